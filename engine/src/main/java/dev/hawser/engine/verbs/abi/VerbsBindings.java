/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * Downcall handles of one libibverbs, each below its C prototype. Pointers are {@code JAVA_LONG}. What returns a pointer or
 * −1 captures {@code errno} (its first argument is {@link dev.hawser.memory.ffi.Errno#capture}); what returns an error
 * number does not.
 */
final class VerbsBindings {
  private static final FunctionDescriptor FREE = FunctionDescriptor.of(JAVA_INT, JAVA_LONG);

  // struct ibv_device **ibv_get_device_list(int *num_devices);
  final MethodHandle getDeviceList;
  // void ibv_free_device_list(struct ibv_device **list);
  final MethodHandle freeDeviceList;
  // const char *ibv_get_device_name(struct ibv_device *device);
  final MethodHandle getDeviceName;
  // __be64 ibv_get_device_guid(struct ibv_device *device);
  final MethodHandle getDeviceGuid;
  // struct ibv_context *ibv_open_device(struct ibv_device *device);
  final MethodHandle openDevice;
  // int ibv_close_device(struct ibv_context *context);
  final MethodHandle closeDevice;
  // int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr);
  final MethodHandle queryDevice;
  // int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *port_attr);
  final MethodHandle queryPort;
  // int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);
  final MethodHandle queryGid;
  // int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
  //                       struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size);          since 1.11
  final @Nullable MethodHandle queryGidEx;
  // int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);
  final MethodHandle queryPkey;
  // struct ibv_pd *ibv_alloc_pd(struct ibv_context *context);
  final MethodHandle allocPd;
  // int ibv_dealloc_pd(struct ibv_pd *pd);
  final MethodHandle deallocPd;
  // struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
  final MethodHandle regMr;
  // struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
  //                                 unsigned int access);                                           since 1.8
  final @Nullable MethodHandle regMrIova2;
  // struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
  //                                  int access);                                                   since 1.12
  final @Nullable MethodHandle regDmabufMr;
  // int ibv_dereg_mr(struct ibv_mr *mr);
  final MethodHandle deregMr;
  // struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context);
  final MethodHandle createCompChannel;
  // int ibv_destroy_comp_channel(struct ibv_comp_channel *channel);
  final MethodHandle destroyCompChannel;
  // struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
  //                              struct ibv_comp_channel *channel, int comp_vector);
  final MethodHandle createCq;
  // int ibv_destroy_cq(struct ibv_cq *cq);
  final MethodHandle destroyCq;
  // int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
  final MethodHandle getCqEvent;
  // void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);
  final MethodHandle ackCqEvents;
  // struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr);
  final MethodHandle createSrq;
  // int ibv_destroy_srq(struct ibv_srq *srq);
  final MethodHandle destroySrq;
  // struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);
  final MethodHandle createQp;
  // int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
  final MethodHandle modifyQp;
  // int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr);
  final MethodHandle queryQp;
  // int ibv_destroy_qp(struct ibv_qp *qp);
  final MethodHandle destroyQp;
  // int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event);
  final MethodHandle getAsyncEvent;
  // void ibv_ack_async_event(struct ibv_async_event *event);
  final MethodHandle ackAsyncEvent;

  VerbsBindings(NativeLibrary lib) {
    getDeviceList = lib.functionWithErrno("ibv_get_device_list", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    freeDeviceList = lib.function("ibv_free_device_list", FunctionDescriptor.ofVoid(JAVA_LONG));
    getDeviceName = lib.function("ibv_get_device_name", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    getDeviceGuid = lib.function("ibv_get_device_guid", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    openDevice = lib.functionWithErrno("ibv_open_device", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    closeDevice = lib.function("ibv_close_device", FREE);
    queryDevice = lib.function("ibv_query_device", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    queryPort = lib.function("ibv_query_port", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG));
    queryGid =
        lib.functionWithErrno(
            "ibv_query_gid", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, JAVA_LONG));
    queryGidEx =
        lib.find("_ibv_query_gid_ex").isPresent()
            ? lib.function(
                "_ibv_query_gid_ex",
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG))
            : null;
    queryPkey =
        lib.functionWithErrno(
            "ibv_query_pkey", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, JAVA_LONG));
    allocPd = lib.functionWithErrno("ibv_alloc_pd", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    deallocPd = lib.function("ibv_dealloc_pd", FREE);
    regMr =
        lib.functionWithErrno(
            "ibv_reg_mr", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT));
    regMrIova2 =
        lib.find("ibv_reg_mr_iova2").isPresent()
            ? lib.functionWithErrno(
                "ibv_reg_mr_iova2",
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT))
            : null;
    regDmabufMr =
        lib.find("ibv_reg_dmabuf_mr").isPresent()
            ? lib.functionWithErrno(
                "ibv_reg_dmabuf_mr",
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT))
            : null;
    deregMr = lib.function("ibv_dereg_mr", FREE);
    createCompChannel = lib.functionWithErrno("ibv_create_comp_channel", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    destroyCompChannel = lib.function("ibv_destroy_comp_channel", FREE);
    createCq =
        lib.functionWithErrno(
            "ibv_create_cq",
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    destroyCq = lib.function("ibv_destroy_cq", FREE);
    getCqEvent =
        lib.functionWithErrno(
            "ibv_get_cq_event", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    ackCqEvents = lib.function("ibv_ack_cq_events", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT));
    createSrq = lib.functionWithErrno("ibv_create_srq", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    destroySrq = lib.function("ibv_destroy_srq", FREE);
    createQp = lib.functionWithErrno("ibv_create_qp", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    modifyQp = lib.function("ibv_modify_qp", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    queryQp =
        lib.function("ibv_query_qp", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG));
    destroyQp = lib.function("ibv_destroy_qp", FREE);
    getAsyncEvent =
        lib.functionWithErrno("ibv_get_async_event", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    ackAsyncEvent = lib.function("ibv_ack_async_event", FunctionDescriptor.ofVoid(JAVA_LONG));
  }
}
