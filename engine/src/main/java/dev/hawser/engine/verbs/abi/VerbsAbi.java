/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

/**
 * Every offset, size and number of libibverbs' C interface that Hawser uses. They are the same on x86-64 and aarch64 and
 * in rdma-core 44 and newer, for nothing behind a mutex is touched. Offsets and sizes are in bytes.
 *
 * <p>Source: {@code infiniband/verbs.h} of rdma-core 44 and 65.
 */
public final class VerbsAbi {
  private VerbsAbi() {}

  /** What ibv_query_device tells. */
  @C("struct ibv_device_attr")
  public static final class DeviceAttr {
    @C("sizeof")
    public static final int BYTES = 232;
    @C("fw_ver")
    public static final int FW_VER = 0;
    @C("node_guid")
    public static final int NODE_GUID = 64;
    @C("max_mr_size")
    public static final int MAX_MR_SIZE = 80;
    @C("vendor_id")
    public static final int VENDOR_ID = 96;
    @C("vendor_part_id")
    public static final int VENDOR_PART_ID = 100;
    @C("max_qp")
    public static final int MAX_QP = 108;
    @C("max_qp_wr")
    public static final int MAX_QP_WR = 112;
    @C("max_sge")
    public static final int MAX_SGE = 120;
    @C("max_cqe")
    public static final int MAX_CQE = 132;
    @C("max_mr")
    public static final int MAX_MR = 136;
    @C("max_qp_rd_atom")
    public static final int MAX_QP_RD_ATOM = 144;
    @C("max_qp_init_rd_atom")
    public static final int MAX_QP_INIT_RD_ATOM = 156;
    @C("max_srq")
    public static final int MAX_SRQ = 212;
    @C("max_srq_wr")
    public static final int MAX_SRQ_WR = 216;
    @C("max_srq_sge")
    public static final int MAX_SRQ_SGE = 220;
    @C("max_pkeys")
    public static final int MAX_PKEYS = 224;
    @C("phys_port_cnt")
    public static final int PHYS_PORT_CNT = 227;

    private DeviceAttr() {}
  }

  /** What ibv_query_port tells; the exported function fills 48 bytes, {@link #ROOM} are handed to it. */
  @C("struct ibv_port_attr")
  public static final class PortAttr {
    /** What is handed to the exported ibv_query_port: more than any version fills. */
    public static final int ROOM = 64;

    @C("state")
    public static final int STATE = 0;
    @C("max_mtu")
    public static final int MAX_MTU = 4;
    @C("active_mtu")
    public static final int ACTIVE_MTU = 8;
    @C("gid_tbl_len")
    public static final int GID_TBL_LEN = 12;
    @C("max_msg_sz")
    public static final int MAX_MSG_SZ = 20;
    @C("pkey_tbl_len")
    public static final int PKEY_TBL_LEN = 32;
    @C("lid")
    public static final int LID = 34;
    @C("active_width")
    public static final int ACTIVE_WIDTH = 43;
    @C("active_speed")
    public static final int ACTIVE_SPEED = 44;
    @C("phys_state")
    public static final int PHYS_STATE = 45;
    @C("link_layer")
    public static final int LINK_LAYER = 46;

    private PortAttr() {}
  }

  /** One entry of the GID table, with its type. */
  @C("struct ibv_gid_entry")
  public static final class GidEntry {
    @C("sizeof")
    public static final int BYTES = 32;
    @C("gid")
    public static final int GID = 0;
    @C("gid_index")
    public static final int GID_INDEX = 16;
    @C("port_num")
    public static final int PORT_NUM = 20;
    @C("gid_type")
    public static final int GID_TYPE = 24;
    @C("ndev_ifindex")
    public static final int NDEV_IFINDEX = 28;

    private GidEntry() {}
  }

  /** A memory region of the device. */
  @C("struct ibv_mr")
  public static final class Mr {
    @C("sizeof")
    public static final int BYTES = 48;
    @C("context")
    public static final int CONTEXT = 0;
    @C("pd")
    public static final int PD = 8;
    @C("addr")
    public static final int ADDR = 16;
    @C("length")
    public static final int LENGTH = 24;
    @C("handle")
    public static final int HANDLE = 32;
    @C("lkey")
    public static final int LKEY = 36;
    @C("rkey")
    public static final int RKEY = 40;

    private Mr() {}
  }

  /** A protection domain. */
  @C("struct ibv_pd")
  public static final class Pd {
    @C("sizeof")
    public static final int BYTES = 16;
    @C("context")
    public static final int CONTEXT = 0;
    @C("handle")
    public static final int HANDLE = 8;

    private Pd() {}
  }

  /** A shared receive queue; only what lies before the mutex. */
  @C("struct ibv_srq")
  public static final class Srq {
    @C("context")
    public static final int CONTEXT = 0;
    @C("srq_context")
    public static final int SRQ_CONTEXT = 8;
    @C("pd")
    public static final int PD = 16;
    @C("handle")
    public static final int HANDLE = 24;

    private Srq() {}
  }

  /** A completion channel. */
  @C("struct ibv_comp_channel")
  public static final class CompChannel {
    @C("sizeof")
    public static final int BYTES = 16;
    @C("context")
    public static final int CONTEXT = 0;
    @C("fd")
    public static final int FD = 8;
    @C("refcnt")
    public static final int REFCNT = 12;

    private CompChannel() {}
  }

  /** A completion queue; only what lies before the mutex. */
  @C("struct ibv_cq")
  public static final class Cq {
    @C("context")
    public static final int CONTEXT = 0;
    @C("channel")
    public static final int CHANNEL = 8;
    @C("cq_context")
    public static final int CQ_CONTEXT = 16;
    @C("handle")
    public static final int HANDLE = 24;
    @C("cqe")
    public static final int CQE = 28;

    private Cq() {}
  }

  /** A queue pair; only what lies before the mutex. */
  @C("struct ibv_qp")
  public static final class Qp {
    @C("context")
    public static final int CONTEXT = 0;
    @C("qp_context")
    public static final int QP_CONTEXT = 8;
    @C("pd")
    public static final int PD = 16;
    @C("send_cq")
    public static final int SEND_CQ = 24;
    @C("recv_cq")
    public static final int RECV_CQ = 32;
    @C("srq")
    public static final int SRQ = 40;
    @C("handle")
    public static final int HANDLE = 48;
    @C("qp_num")
    public static final int QP_NUM = 52;
    @C("state")
    public static final int STATE = 56;
    @C("qp_type")
    public static final int QP_TYPE = 60;

    private Qp() {}
  }

  /** How a shared receive queue is made. */
  @C("struct ibv_srq_init_attr")
  public static final class SrqInitAttr {
    @C("sizeof")
    public static final int BYTES = 24;
    @C("srq_context")
    public static final int SRQ_CONTEXT = 0;
    @C("attr.max_wr")
    public static final int MAX_WR = 8;
    @C("attr.max_sge")
    public static final int MAX_SGE = 12;
    @C("attr.srq_limit")
    public static final int SRQ_LIMIT = 16;

    private SrqInitAttr() {}
  }

  /** How a queue pair is made; the caps come back as granted. */
  @C("struct ibv_qp_init_attr")
  public static final class QpInitAttr {
    @C("sizeof")
    public static final int BYTES = 64;
    @C("qp_context")
    public static final int QP_CONTEXT = 0;
    @C("send_cq")
    public static final int SEND_CQ = 8;
    @C("recv_cq")
    public static final int RECV_CQ = 16;
    @C("srq")
    public static final int SRQ = 24;
    @C("cap.max_send_wr")
    public static final int MAX_SEND_WR = 32;
    @C("cap.max_recv_wr")
    public static final int MAX_RECV_WR = 36;
    @C("cap.max_send_sge")
    public static final int MAX_SEND_SGE = 40;
    @C("cap.max_recv_sge")
    public static final int MAX_RECV_SGE = 44;
    @C("cap.max_inline_data")
    public static final int MAX_INLINE_DATA = 48;
    @C("qp_type")
    public static final int QP_TYPE = 52;
    @C("sq_sig_all")
    public static final int SQ_SIG_ALL = 56;

    private QpInitAttr() {}
  }

  /** A queue pair's attributes. */
  @C("struct ibv_qp_attr")
  public static final class QpAttr {
    @C("sizeof")
    public static final int BYTES = 144;
    @C("qp_state")
    public static final int QP_STATE = 0;
    @C("cur_qp_state")
    public static final int CUR_QP_STATE = 4;
    @C("path_mtu")
    public static final int PATH_MTU = 8;
    @C("path_mig_state")
    public static final int PATH_MIG_STATE = 12;
    @C("qkey")
    public static final int QKEY = 16;
    @C("rq_psn")
    public static final int RQ_PSN = 20;
    @C("sq_psn")
    public static final int SQ_PSN = 24;
    @C("dest_qp_num")
    public static final int DEST_QP_NUM = 28;
    @C("qp_access_flags")
    public static final int QP_ACCESS_FLAGS = 32;
    @C("cap")
    public static final int CAP = 36;
    @C("ah_attr.grh.dgid")
    public static final int DGID = 56;
    @C("ah_attr.grh.flow_label")
    public static final int FLOW_LABEL = 72;
    @C("ah_attr.grh.sgid_index")
    public static final int SGID_INDEX = 76;
    @C("ah_attr.grh.hop_limit")
    public static final int HOP_LIMIT = 77;
    @C("ah_attr.grh.traffic_class")
    public static final int TRAFFIC_CLASS = 78;
    @C("ah_attr.dlid")
    public static final int DLID = 80;
    @C("ah_attr.sl")
    public static final int SL = 82;
    @C("ah_attr.src_path_bits")
    public static final int SRC_PATH_BITS = 83;
    @C("ah_attr.static_rate")
    public static final int STATIC_RATE = 84;
    @C("ah_attr.is_global")
    public static final int IS_GLOBAL = 85;
    @C("ah_attr.port_num")
    public static final int AH_PORT_NUM = 86;
    @C("pkey_index")
    public static final int PKEY_INDEX = 120;
    @C("max_rd_atomic")
    public static final int MAX_RD_ATOMIC = 126;
    @C("max_dest_rd_atomic")
    public static final int MAX_DEST_RD_ATOMIC = 127;
    @C("min_rnr_timer")
    public static final int MIN_RNR_TIMER = 128;
    @C("port_num")
    public static final int PORT_NUM = 129;
    @C("timeout")
    public static final int TIMEOUT = 130;
    @C("retry_cnt")
    public static final int RETRY_CNT = 131;
    @C("rnr_retry")
    public static final int RNR_RETRY = 132;

    private QpAttr() {}
  }

  /** A piece of local memory. */
  @C("struct ibv_sge")
  public static final class Sge {
    @C("sizeof")
    public static final int BYTES = 16;
    @C("addr")
    public static final int ADDR = 0;
    @C("length")
    public static final int LENGTH = 8;
    @C("lkey")
    public static final int LKEY = 12;

    private Sge() {}
  }

  /** A work request of the send queue. */
  @C("struct ibv_send_wr")
  public static final class SendWr {
    @C("sizeof")
    public static final int BYTES = 128;
    @C("wr_id")
    public static final int WR_ID = 0;
    @C("next")
    public static final int NEXT = 8;
    @C("sg_list")
    public static final int SG_LIST = 16;
    @C("num_sge")
    public static final int NUM_SGE = 24;
    @C("opcode")
    public static final int OPCODE = 28;
    @C("send_flags")
    public static final int SEND_FLAGS = 32;
    @C("imm_data")
    public static final int IMM_DATA = 36;
    @C("wr.rdma.remote_addr")
    public static final int REMOTE_ADDR = 40;
    @C("wr.rdma.rkey")
    public static final int RKEY = 48;

    private SendWr() {}
  }

  /** A work request of a receive queue. */
  @C("struct ibv_recv_wr")
  public static final class RecvWr {
    @C("sizeof")
    public static final int BYTES = 32;
    @C("wr_id")
    public static final int WR_ID = 0;
    @C("next")
    public static final int NEXT = 8;
    @C("sg_list")
    public static final int SG_LIST = 16;
    @C("num_sge")
    public static final int NUM_SGE = 24;

    private RecvWr() {}
  }

  /** A work completion. After an error only wr_id, status, vendor_err and qp_num say anything. */
  @C("struct ibv_wc")
  public static final class Wc {
    @C("sizeof")
    public static final int BYTES = 48;
    @C("wr_id")
    public static final int WR_ID = 0;
    @C("status")
    public static final int STATUS = 8;
    @C("opcode")
    public static final int OPCODE = 12;
    @C("vendor_err")
    public static final int VENDOR_ERR = 16;
    @C("byte_len")
    public static final int BYTE_LEN = 20;
    @C("imm_data")
    public static final int IMM_DATA = 24;
    @C("qp_num")
    public static final int QP_NUM = 28;
    @C("src_qp")
    public static final int SRC_QP = 32;
    @C("wc_flags")
    public static final int WC_FLAGS = 36;

    private Wc() {}
  }

  /** An asynchronous event. */
  @C("struct ibv_async_event")
  public static final class AsyncEvent {
    @C("sizeof")
    public static final int BYTES = 16;
    @C("element")
    public static final int ELEMENT = 0;
    @C("event_type")
    public static final int EVENT_TYPE = 8;

    private AsyncEvent() {}
  }

  /** A device that was found and not opened. */
  @C("struct ibv_device")
  public static final class Device {
    @C("sizeof")
    public static final int BYTES = 664;
    @C("node_type")
    public static final int NODE_TYPE = 16;
    @C("transport_type")
    public static final int TRANSPORT_TYPE = 20;
    @C("name")
    public static final int NAME = 24;
    @C("dev_name")
    public static final int DEV_NAME = 88;
    @C("dev_path")
    public static final int DEV_PATH = 152;
    @C("ibdev_path")
    public static final int IBDEV_PATH = 408;

    private Device() {}
  }

  /** An open device, with the functions that verbs.h inlines. */
  @C("struct ibv_context")
  public static final class Context {
    @C("device")
    public static final int DEVICE = 0;
    @C("ops")
    public static final int OPS = 8;
    @C("ops.poll_cq")
    public static final int OPS_POLL_CQ = 96;
    @C("ops.req_notify_cq")
    public static final int OPS_REQ_NOTIFY_CQ = 104;
    @C("ops.post_srq_recv")
    public static final int OPS_POST_SRQ_RECV = 168;
    @C("ops.post_send")
    public static final int OPS_POST_SEND = 208;
    @C("ops.post_recv")
    public static final int OPS_POST_RECV = 216;
    @C("cmd_fd")
    public static final int CMD_FD = 264;
    @C("async_fd")
    public static final int ASYNC_FD = 268;
    @C("num_comp_vectors")
    public static final int NUM_COMP_VECTORS = 272;

    private Context() {}
  }

  /** Kinds of queue pair. */
  public static final class QpType {
    @C("IBV_QPT_RC")
    public static final int RC = 2;
    @C("IBV_QPT_UC")
    public static final int UC = 3;
    @C("IBV_QPT_UD")
    public static final int UD = 4;
    @C("IBV_QPT_DRIVER")
    public static final int DRIVER = 255;

    private QpType() {}
  }

  /** States of a queue pair. */
  public static final class QpState {
    @C("IBV_QPS_RESET")
    public static final int RESET = 0;
    @C("IBV_QPS_INIT")
    public static final int INIT = 1;
    @C("IBV_QPS_RTR")
    public static final int RTR = 2;
    @C("IBV_QPS_RTS")
    public static final int RTS = 3;
    @C("IBV_QPS_SQD")
    public static final int SQD = 4;
    @C("IBV_QPS_SQE")
    public static final int SQE = 5;
    @C("IBV_QPS_ERR")
    public static final int ERR = 6;

    private QpState() {}
  }

  /** What a work request does. */
  public static final class Opcode {
    @C("IBV_WR_RDMA_WRITE")
    public static final int RDMA_WRITE = 0;
    @C("IBV_WR_RDMA_WRITE_WITH_IMM")
    public static final int RDMA_WRITE_WITH_IMM = 1;
    @C("IBV_WR_SEND")
    public static final int SEND = 2;
    @C("IBV_WR_SEND_WITH_IMM")
    public static final int SEND_WITH_IMM = 3;
    @C("IBV_WR_RDMA_READ")
    public static final int RDMA_READ = 4;

    private Opcode() {}
  }

  /** Flags of a work request. */
  public static final class SendFlags {
    @C("IBV_SEND_FENCE")
    public static final int FENCE = 1;
    @C("IBV_SEND_SIGNALED")
    public static final int SIGNALED = 2;
    @C("IBV_SEND_SOLICITED")
    public static final int SOLICITED = 4;
    @C("IBV_SEND_INLINE")
    public static final int INLINE = 8;

    private SendFlags() {}
  }

  /** What a registration permits. */
  public static final class AccessFlags {
    @C("IBV_ACCESS_LOCAL_WRITE")
    public static final int LOCAL_WRITE = 1;
    @C("IBV_ACCESS_REMOTE_WRITE")
    public static final int REMOTE_WRITE = 2;
    @C("IBV_ACCESS_REMOTE_READ")
    public static final int REMOTE_READ = 4;
    @C("IBV_ACCESS_REMOTE_ATOMIC")
    public static final int REMOTE_ATOMIC = 8;
    @C("IBV_ACCESS_RELAXED_ORDERING")
    public static final int RELAXED_ORDERING = 1 << 20;

    private AccessFlags() {}
  }

  /** Path MTUs. */
  public static final class Mtu {
    @C("IBV_MTU_256")
    public static final int BYTES_256 = 1;
    @C("IBV_MTU_512")
    public static final int BYTES_512 = 2;
    @C("IBV_MTU_1024")
    public static final int BYTES_1024 = 3;
    @C("IBV_MTU_2048")
    public static final int BYTES_2048 = 4;
    @C("IBV_MTU_4096")
    public static final int BYTES_4096 = 5;

    private Mtu() {}
  }

  /** What a completion is of. */
  public static final class WcOpcode {
    @C("IBV_WC_SEND")
    public static final int SEND = 0;
    @C("IBV_WC_RDMA_WRITE")
    public static final int RDMA_WRITE = 1;
    @C("IBV_WC_RDMA_READ")
    public static final int RDMA_READ = 2;
    @C("IBV_WC_RECV")
    public static final int RECV = 128;
    @C("IBV_WC_RECV_RDMA_WITH_IMM")
    public static final int RECV_RDMA_WITH_IMM = 129;

    private WcOpcode() {}
  }

  /** How work ended. */
  public static final class WcStatus {
    @C("IBV_WC_SUCCESS")
    public static final int SUCCESS = 0;
    @C("IBV_WC_LOC_LEN_ERR")
    public static final int LOC_LEN_ERR = 1;
    @C("IBV_WC_LOC_QP_OP_ERR")
    public static final int LOC_QP_OP_ERR = 2;
    @C("IBV_WC_LOC_EEC_OP_ERR")
    public static final int LOC_EEC_OP_ERR = 3;
    @C("IBV_WC_LOC_PROT_ERR")
    public static final int LOC_PROT_ERR = 4;
    @C("IBV_WC_WR_FLUSH_ERR")
    public static final int WR_FLUSH_ERR = 5;
    @C("IBV_WC_MW_BIND_ERR")
    public static final int MW_BIND_ERR = 6;
    @C("IBV_WC_BAD_RESP_ERR")
    public static final int BAD_RESP_ERR = 7;
    @C("IBV_WC_LOC_ACCESS_ERR")
    public static final int LOC_ACCESS_ERR = 8;
    @C("IBV_WC_REM_INV_REQ_ERR")
    public static final int REM_INV_REQ_ERR = 9;
    @C("IBV_WC_REM_ACCESS_ERR")
    public static final int REM_ACCESS_ERR = 10;
    @C("IBV_WC_REM_OP_ERR")
    public static final int REM_OP_ERR = 11;
    @C("IBV_WC_RETRY_EXC_ERR")
    public static final int RETRY_EXC_ERR = 12;
    @C("IBV_WC_RNR_RETRY_EXC_ERR")
    public static final int RNR_RETRY_EXC_ERR = 13;
    @C("IBV_WC_LOC_RDD_VIOL_ERR")
    public static final int LOC_RDD_VIOL_ERR = 14;
    @C("IBV_WC_REM_INV_RD_REQ_ERR")
    public static final int REM_INV_RD_REQ_ERR = 15;
    @C("IBV_WC_REM_ABORT_ERR")
    public static final int REM_ABORT_ERR = 16;
    @C("IBV_WC_INV_EECN_ERR")
    public static final int INV_EECN_ERR = 17;
    @C("IBV_WC_INV_EEC_STATE_ERR")
    public static final int INV_EEC_STATE_ERR = 18;
    @C("IBV_WC_FATAL_ERR")
    public static final int FATAL_ERR = 19;
    @C("IBV_WC_RESP_TIMEOUT_ERR")
    public static final int RESP_TIMEOUT_ERR = 20;
    @C("IBV_WC_GENERAL_ERR")
    public static final int GENERAL_ERR = 21;

    private WcStatus() {}
  }

  /** States of a port. */
  public static final class PortState {
    @C("IBV_PORT_NOP")
    public static final int NOP = 0;
    @C("IBV_PORT_DOWN")
    public static final int DOWN = 1;
    @C("IBV_PORT_INIT")
    public static final int INIT = 2;
    @C("IBV_PORT_ARMED")
    public static final int ARMED = 3;
    @C("IBV_PORT_ACTIVE")
    public static final int ACTIVE = 4;
    @C("IBV_PORT_ACTIVE_DEFER")
    public static final int ACTIVE_DEFER = 5;

    private PortState() {}
  }

  /** What lies under a port. */
  public static final class LinkLayer {
    @C("IBV_LINK_LAYER_UNSPECIFIED")
    public static final int UNSPECIFIED = 0;
    @C("IBV_LINK_LAYER_INFINIBAND")
    public static final int INFINIBAND = 1;
    @C("IBV_LINK_LAYER_ETHERNET")
    public static final int ETHERNET = 2;

    private LinkLayer() {}
  }

  /** Kinds of GID. */
  public static final class GidType {
    @C("IBV_GID_TYPE_IB")
    public static final int IB = 0;
    @C("IBV_GID_TYPE_ROCE_V1")
    public static final int ROCE_V1 = 1;
    @C("IBV_GID_TYPE_ROCE_V2")
    public static final int ROCE_V2 = 2;

    private GidType() {}
  }

  /** What a device speaks. */
  public static final class TransportType {
    @C("IBV_TRANSPORT_UNKNOWN")
    public static final int UNKNOWN = -1;
    @C("IBV_TRANSPORT_IB")
    public static final int IB = 0;
    @C("IBV_TRANSPORT_IWARP")
    public static final int IWARP = 1;
    @C("IBV_TRANSPORT_USNIC")
    public static final int USNIC = 2;
    @C("IBV_TRANSPORT_USNIC_UDP")
    public static final int USNIC_UDP = 3;
    @C("IBV_TRANSPORT_UNSPECIFIED")
    public static final int UNSPECIFIED = 4;

    private TransportType() {}
  }

  /** Asynchronous events. */
  public static final class EventType {
    @C("IBV_EVENT_CQ_ERR")
    public static final int CQ_ERR = 0;
    @C("IBV_EVENT_QP_FATAL")
    public static final int QP_FATAL = 1;
    @C("IBV_EVENT_QP_REQ_ERR")
    public static final int QP_REQ_ERR = 2;
    @C("IBV_EVENT_QP_ACCESS_ERR")
    public static final int QP_ACCESS_ERR = 3;
    @C("IBV_EVENT_COMM_EST")
    public static final int COMM_EST = 4;
    @C("IBV_EVENT_SQ_DRAINED")
    public static final int SQ_DRAINED = 5;
    @C("IBV_EVENT_PATH_MIG")
    public static final int PATH_MIG = 6;
    @C("IBV_EVENT_PATH_MIG_ERR")
    public static final int PATH_MIG_ERR = 7;
    @C("IBV_EVENT_DEVICE_FATAL")
    public static final int DEVICE_FATAL = 8;
    @C("IBV_EVENT_PORT_ACTIVE")
    public static final int PORT_ACTIVE = 9;
    @C("IBV_EVENT_PORT_ERR")
    public static final int PORT_ERR = 10;
    @C("IBV_EVENT_LID_CHANGE")
    public static final int LID_CHANGE = 11;
    @C("IBV_EVENT_PKEY_CHANGE")
    public static final int PKEY_CHANGE = 12;
    @C("IBV_EVENT_SM_CHANGE")
    public static final int SM_CHANGE = 13;
    @C("IBV_EVENT_SRQ_ERR")
    public static final int SRQ_ERR = 14;
    @C("IBV_EVENT_SRQ_LIMIT_REACHED")
    public static final int SRQ_LIMIT_REACHED = 15;
    @C("IBV_EVENT_QP_LAST_WQE_REACHED")
    public static final int QP_LAST_WQE_REACHED = 16;
    @C("IBV_EVENT_CLIENT_REREGISTER")
    public static final int CLIENT_REREGISTER = 17;
    @C("IBV_EVENT_GID_CHANGE")
    public static final int GID_CHANGE = 18;
    @C("IBV_EVENT_WQ_FATAL")
    public static final int WQ_FATAL = 19;

    private EventType() {}
  }

  /** Which attributes of a queue pair are meant. */
  public static final class QpMask {
    @C("IBV_QP_STATE")
    public static final int STATE = 1 << 0;
    @C("IBV_QP_CUR_STATE")
    public static final int CUR_STATE = 1 << 1;
    @C("IBV_QP_ACCESS_FLAGS")
    public static final int ACCESS_FLAGS = 1 << 3;
    @C("IBV_QP_PKEY_INDEX")
    public static final int PKEY_INDEX = 1 << 4;
    @C("IBV_QP_PORT")
    public static final int PORT = 1 << 5;
    @C("IBV_QP_QKEY")
    public static final int QKEY = 1 << 6;
    @C("IBV_QP_AV")
    public static final int AV = 1 << 7;
    @C("IBV_QP_PATH_MTU")
    public static final int PATH_MTU = 1 << 8;
    @C("IBV_QP_TIMEOUT")
    public static final int TIMEOUT = 1 << 9;
    @C("IBV_QP_RETRY_CNT")
    public static final int RETRY_CNT = 1 << 10;
    @C("IBV_QP_RNR_RETRY")
    public static final int RNR_RETRY = 1 << 11;
    @C("IBV_QP_RQ_PSN")
    public static final int RQ_PSN = 1 << 12;
    @C("IBV_QP_MAX_QP_RD_ATOMIC")
    public static final int MAX_QP_RD_ATOMIC = 1 << 13;
    @C("IBV_QP_MIN_RNR_TIMER")
    public static final int MIN_RNR_TIMER = 1 << 15;
    @C("IBV_QP_SQ_PSN")
    public static final int SQ_PSN = 1 << 16;
    @C("IBV_QP_MAX_DEST_RD_ATOMIC")
    public static final int MAX_DEST_RD_ATOMIC = 1 << 17;
    @C("IBV_QP_CAP")
    public static final int CAP = 1 << 19;
    @C("IBV_QP_DEST_QPN")
    public static final int DEST_QPN = 1 << 20;

    private QpMask() {}
  }

  /** Flags of a completion. */
  public static final class WcFlags {
    @C("IBV_WC_WITH_IMM")
    public static final int WITH_IMM = 2;

    private WcFlags() {}
  }
}
