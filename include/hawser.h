/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * Hawser's C ABI: a table of functions that run in a Java virtual machine inside this process. How the table is
 * reached: hawser_jvm.h, or by hand: start a JVM (JNI_CreateJavaVM) with Hawser's jars on its class path, and call the
 * static method  long dev.hawser.capi.CApi.table(int)  with HAWSER_ABI_MAJOR; it returns the address of a hawser_api,
 * or 0 if this version cannot be served.
 *
 * Rules for all functions:
 *  - They may be called from any thread. One thread at a time sets and posts one transfer, as one would expect; polls,
 *    waits and cancels may come from others.
 *  - They return a negative hawser error code when they fail; then last_error() tells this thread what happened, to
 *    what, and what to do. Nothing that is passed to them can crash the JVM except an address that is not mapped.
 *  - Handles are numbers, never reused; a wrong or released one is HAWSER_ERROR_HANDLE.
 *  - Texts are UTF-8 with a final NUL. What a pointer argument points to is read during the call only.
 *  - A function with a buffer and its capacity returns the bytes that the answer has. If they are more than the
 *    capacity, nothing was written: call again with a larger buffer.
 *  - Times are in nanoseconds. Waits have a deadline, always.
 *  - The calling thread needs a stack of 256 KiB at least: with less the JVM cannot attach it, and aborts the process.
 *  - Do not call them in a child after fork(), nor from a signal handler.
 *
 * The major version grows when something here changes its meaning or place, the minor one when functions are appended
 * to the table (table_bytes tells how long it is) or constants are added.
 */
#ifndef HAWSER_H
#define HAWSER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HAWSER_ABI_MAJOR 1
#define HAWSER_ABI_MINOR 1

/* Errors. */
#define HAWSER_OK 0
#define HAWSER_ERROR_ARGUMENT -1          /* an argument is wrong */
#define HAWSER_ERROR_HANDLE -2            /* not a handle, of another kind, or released */
#define HAWSER_ERROR_UNRESOLVED_BLOCKS -3 /* a block is in no region that may be used for this */
#define HAWSER_ERROR_UNKNOWN_PEER -4      /* nobody of that name, or no such region there */
#define HAWSER_ERROR_PEER_METADATA -5     /* a peer's metadata is damaged, forged, or too old */
#define HAWSER_ERROR_NAME_IN_USE -6       /* another living agent has the name */
#define HAWSER_ERROR_CLOSED -7            /* the agent is closed */
#define HAWSER_ERROR_SUPERSEDED -8        /* a newer incarnation has this agent's name */
#define HAWSER_ERROR_TIMEOUT -9           /* the wait is over; what was waited for goes on */
#define HAWSER_ERROR_TRANSFER -10         /* a transfer failed, was cancelled or could not start: see last_cause() */
#define HAWSER_ERROR_GRANT -11            /* a grant is damaged, revoked, or for something else */
#define HAWSER_ERROR_BUSY -12             /* it is under way or in use: wait for it, or cancel it */
#define HAWSER_ERROR_MEMORY -13           /* memory could not be registered or allocated */
#define HAWSER_ERROR_METADATA_SERVICE -14 /* the metadata service does not answer, or refuses */
#define HAWSER_ERROR_LINK -15             /* the peer cannot be reached; with each path's reason */
#define HAWSER_ERROR_ENGINE -16           /* the engine cannot start */
#define HAWSER_ERROR_INTERNAL -99         /* a fault of Hawser's: please report it */

/* How a transfer stands. */
#define HAWSER_STATE_IDLE 0 /* never posted */
#define HAWSER_STATE_ACTIVE 1
#define HAWSER_STATE_DONE 2
#define HAWSER_STATE_FAILED 3
#define HAWSER_STATE_CANCELLED 4
#define HAWSER_STATE_INVALID 255 /* in transfers_poll: not the handle of a transfer */

/* Why a transfer failed. */
#define HAWSER_CAUSE_NONE 0
#define HAWSER_CAUSE_DEADLINE_EXCEEDED 1
#define HAWSER_CAUSE_PEER_LOST 2
#define HAWSER_CAUSE_PEER_RESTARTED 3
#define HAWSER_CAUSE_SESSION_ENDED 4
#define HAWSER_CAUSE_REFUSED 5
#define HAWSER_CAUSE_REMOTE_ACCESS 6
#define HAWSER_CAUSE_REMOTE_REGION_CLOSED 7
#define HAWSER_CAUSE_LOCAL_ACCESS 8
#define HAWSER_CAUSE_STALE 9
#define HAWSER_CAUSE_NOTIFICATION_BACKLOG 10
#define HAWSER_CAUSE_CLOSED 11
#define HAWSER_CAUSE_CANCELLED 12

/* What became of a transfer at the peer. */
#define HAWSER_REMOTE_PENDING 0
#define HAWSER_REMOTE_DELIVERED 1
#define HAWSER_REMOTE_ABORTED 2
#define HAWSER_REMOTE_UNKNOWN 3
#define HAWSER_REMOTE_NOT_APPLICABLE 4

/* Operations. */
#define HAWSER_NOTIFY 0 /* no bytes: only what the options carry */
#define HAWSER_READ 1   /* the peer's blocks into ours */
#define HAWSER_WRITE 2  /* our blocks into the peer's */

/* What peers may do with a region. */
#define HAWSER_LOCAL 0
#define HAWSER_REMOTE_READ 1
#define HAWSER_REMOTE_WRITE 2

/* Devices. */
#define HAWSER_DEVICE_AUTO -1 /* where the pointer is, the driver is asked */
#define HAWSER_DEVICE_HOST 0
#define HAWSER_DEVICE_CUDA(n) (0x10000 | (n))
#define HAWSER_DEVICE_HIP(n) (0x20000 | (n))

/* For hawser_options.flags. */
#define HAWSER_COUNTER 1 /* one arrival at hawser_options.counter instead of a notification */
#define HAWSER_FLUSH 2   /* the end of a WRITE means visible at the peer, not only received */

/* An agent, region, block list, peer, transfer, grant or expectation. 0 is none. */
typedef uint64_t hawser_handle;

typedef struct hawser_region {
  uint32_t struct_bytes; /* sizeof(hawser_region), set by the caller */
  int32_t device;
  uint64_t address;
  int64_t length;
  int64_t id; /* as in telemetry; never 0 */
  int64_t access;
} hawser_region;

typedef struct hawser_peer {
  uint32_t struct_bytes; /* sizeof(hawser_peer), set by the caller */
  uint32_t connected;    /* whether a path to it is up */
  uint64_t epoch;        /* its incarnation; 0 if nothing is known (any more) */
  int64_t revision;      /* grows with every change of its regions that we heard of */
} hawser_peer;

/* What is moved. */
typedef struct hawser_request {
  uint32_t struct_bytes;      /* sizeof(hawser_request) */
  uint32_t operation;         /* HAWSER_READ, HAWSER_WRITE, HAWSER_NOTIFY */
  hawser_handle peer;
  hawser_handle local;        /* block lists; 0 for HAWSER_NOTIFY */
  hawser_handle remote;
  const void *local_indices;  /* which blocks, in this order; NULL, with a count of 0, for all */
  int64_t local_count;
  const void *remote_indices;
  int64_t remote_count;
  uint32_t local_index_bytes; /* 4 or 8: the indices are int32_t or int64_t */
  uint32_t remote_index_bytes;
} hawser_request;

/* What a transfer carries besides its bytes. All zeros but for struct_bytes: nothing. */
typedef struct hawser_options {
  uint32_t struct_bytes;      /* sizeof(hawser_options) */
  uint32_t flags;
  const void *notification;   /* what the peer gets behind all the data, at most 4096 bytes; NULL for none */
  int64_t notification_bytes; /* may be 0: the empty notification is one; 0 with NULL */
  const char *request_id;     /* at most 64 bytes, seen in errors and telemetry on both sides; NULL for none */
  int64_t counter;            /* with HAWSER_COUNTER */
  int64_t timeout;            /* ns from the post; 0: the agent's transfer-timeout */
  hawser_handle lent;         /* the grant under which the remote blocks were lent; 0 for none */
} hawser_options;

/* How a transfer stands. */
typedef struct hawser_transfer {
  uint32_t struct_bytes;      /* sizeof(hawser_transfer), set by the caller */
  uint32_t state;             /* HAWSER_STATE_ */
  uint32_t cause;             /* HAWSER_CAUSE_, if FAILED */
  uint32_t remote;            /* HAWSER_REMOTE_ */
  uint32_t maybe_notified;    /* FAILED, and the notification may have come all the same */
  uint32_t reserved;
  int64_t position;           /* the byte at which it failed; -1 if not known */
  int64_t total_bytes;
  int64_t acknowledged_bytes;
  int64_t elapsed;            /* ns from the post to the end, or to now */
  uint64_t number;            /* within the link to the peer, as in telemetry; new with every post */
  uint64_t peer_epoch;
} hawser_transfer;

typedef struct hawser_notification {
  uint32_t struct_bytes;      /* sizeof(hawser_notification), set by the caller */
  uint32_t peer_bytes;
  uint32_t request_id_bytes;
  uint32_t payload_bytes;
  uint64_t peer_epoch;
  uint64_t transfer;          /* the peer's number of the transfer */
  char peer[136];             /* with a final NUL */
  char request_id[72];        /* with a final NUL; empty if it had none */
  uint8_t payload[4096];
} hawser_notification;

typedef struct hawser_lent {
  uint32_t struct_bytes;      /* sizeof(hawser_lent), set by the caller */
  uint32_t writable;          /* whether we may write to the blocks; otherwise we may read them */
  uint64_t owner_epoch;
  hawser_handle blocks;       /* a block list, the caller's to release */
  char owner[136];            /* with a final NUL */
} hawser_lent;

/*
 * The table. Every integer argument and result has 64 bits, so that no caller has to know how narrower ones are
 * widened.
 */
typedef struct hawser_api {
  uint32_t abi_version; /* major << 16 | minor */
  uint32_t table_bytes;
  const char *version;  /* of Hawser */

  /* ------------------------------------------------------------------------------------------------- errors */

  /* What failed last in this thread, as text with a final NUL; returns its bytes without the NUL. */
  int64_t (*last_error)(char *text, int64_t capacity);

  /* The HAWSER_CAUSE_ of the last HAWSER_ERROR_TRANSFER in this thread, of which HAWSER_CAUSE_NONE is: cancelled. */
  int64_t (*last_cause)(void);

  /* Lets go of anything but an agent, a region or a grant, which have their own ends. A transfer must not be active
   * (HAWSER_ERROR_BUSY). Peers stay known. */
  int64_t (*release)(hawser_handle handle);

  /* -------------------------------------------------------------------------------------------------- agents */

  /* Starts an agent. settings: lines of key=value, with the keys of docs/configuration.md; NULL for none. */
  int64_t (*agent_start)(const char *name, const char *settings, hawser_handle *agent);

  /* Ends it, and everything that it made: transfers under way end as CLOSED. All its handles are released. */
  int64_t (*agent_close)(hawser_handle agent);

  /* Facts as JSON: name, epoch, addresses, transports, absentTransports, settings. */
  int64_t (*agent_describe)(hawser_handle agent, char *json, int64_t capacity);

  /* The blob that a peer needs: with_connection 0 or 1; regions NULL for all, else count of them (may be 0). */
  int64_t (*agent_metadata)(hawser_handle agent, int64_t with_connection, const hawser_handle *regions, int64_t count,
                            void *blob, int64_t capacity);

  /* Moves work on, on this thread, if nobody else is at it; returns how much was done. Never blocks. */
  int64_t (*agent_poll)(hawser_handle agent);

  /* Waits until what is registered now stands in the metadata service; returns 1 if it does, 0 if not in time. */
  int64_t (*agent_await_published)(hawser_handle agent, int64_t timeout);

  /* Every transfer_watch and expectation_watch that comes true writes 8 bytes (the number 1) to this file descriptor:
   * an eventfd or a pipe, nonblocking, open for writing. -1 for none. */
  int64_t (*agent_signal_to)(hawser_handle agent, int64_t fd);

  /* Which watched handles have ended since the last call; returns how many were written, at most capacity. */
  int64_t (*agent_take_ended)(hawser_handle agent, hawser_handle *handles, int64_t capacity);

  /* -------------------------------------------------------------------------------------------------- memory */

  /* Registers memory that is mapped, and that the caller keeps mapped until the region is closed. name: NULL for none. */
  int64_t (*region_register)(hawser_handle agent, const char *name, uint64_t address, int64_t length, int64_t device,
                             int64_t access, hawser_handle *region);

  /* Allocates host memory, zeroed, which peers on this host can map. It goes when the region is closed. */
  int64_t (*region_allocate)(hawser_handle agent, const char *name, int64_t length, int64_t access,
                             hawser_handle *region);

  int64_t (*region_describe)(hawser_handle region, hawser_region *facts);

  /* Closes it. HAWSER_ERROR_BUSY if transfers still use it when the time is over: then it stays closing. */
  int64_t (*region_close)(hawser_handle region, int64_t timeout);

  /* A grid of blocks, the last axis fastest: axes at most 8; strides in bytes, may be 0 or negative. */
  int64_t (*blocks_strided)(uint64_t base, int64_t axes, const int64_t *shape, const int64_t *strides, int64_t length,
                            int64_t device, hawser_handle *blocks);

  /* Rows of address, length and device number, 8 bytes each. kind: HAWSER_DEVICE_HOST, _CUDA(0) or _HIP(0). */
  int64_t (*blocks_triples)(const uint64_t *rows, int64_t count, int64_t kind, hawser_handle *blocks);

  /* One list after the other. */
  int64_t (*blocks_concat)(const hawser_handle *lists, int64_t count, hawser_handle *blocks);

  /* Returns how many blocks it has; bytes of all of them together, unless NULL. */
  int64_t (*blocks_count)(hawser_handle blocks, int64_t *bytes);

  /* --------------------------------------------------------------------------------------------------- peers */

  /* Takes what a peer told of itself. */
  int64_t (*peer_add)(hawser_handle agent, const void *blob, int64_t bytes, hawser_handle *peer);

  /* The peer of this name: known, or waited for in the metadata service. */
  int64_t (*peer_get)(hawser_handle agent, const char *name, int64_t timeout, hawser_handle *peer);

  int64_t (*peer_name)(hawser_handle peer, char *name, int64_t capacity);

  int64_t (*peer_describe)(hawser_handle peer, hawser_peer *facts);

  /* Facts as JSON: name, epoch, host, addresses, regions, paths, unusedTransports. */
  int64_t (*peer_describe_json)(hawser_handle peer, char *json, int64_t capacity);

  /* The region that it calls by this name. */
  int64_t (*peer_region)(hawser_handle peer, const char *name, hawser_region *facts);

  /* 1 if all blocks lie in regions that we know of and may be used for this operation, else 0. */
  int64_t (*peer_covers)(hawser_handle peer, hawser_handle blocks, int64_t operation);

  /* Waits until a path to it is up. */
  int64_t (*peer_await_connected)(hawser_handle peer, int64_t timeout);

  /* Forgets what it told; the connection stays. */
  int64_t (*peer_invalidate)(hawser_handle agent, hawser_handle peer);

  /* Forgets it and disconnects: transfers under way end as CLOSED. Releases the handle. */
  int64_t (*peer_remove)(hawser_handle agent, hawser_handle peer);

  /* ----------------------------------------------------------------------------------------------- transfers */

  /* Resolves a transfer, to be posted once or many times. options: NULL for none. */
  int64_t (*transfer_prepare)(hawser_handle agent, const hawser_request *request, const hawser_options *options,
                              hawser_handle *transfer);

  /* transfer_prepare and transfer_post in one. */
  int64_t (*transfer_start)(hawser_handle agent, const hawser_request *request, const hawser_options *options,
                            hawser_handle *transfer);

  /* Starts it; options: NULL for what it carries already. A small one on mapped memory is complete afterwards. */
  int64_t (*transfer_post)(hawser_handle transfer, const hawser_options *options);

  /* Returns its HAWSER_STATE_; moves the engine on if nobody else is at it. Never blocks. */
  int64_t (*transfer_poll)(hawser_handle transfer);

  /* Polls many at once: states gets one HAWSER_STATE_ for each; returns how many are not active. */
  int64_t (*transfers_poll)(hawser_handle agent, const hawser_handle *transfers, int64_t count, uint8_t *states);

  /* Waits for the end, helping the engine on this thread; returns the HAWSER_STATE_, or HAWSER_ERROR_TIMEOUT. */
  int64_t (*transfer_wait)(hawser_handle transfer, int64_t timeout);

  int64_t (*transfer_describe)(hawser_handle transfer, hawser_transfer *facts);

  /* Why it failed or was cancelled, as text; empty while it did not. */
  int64_t (*transfer_message)(hawser_handle transfer, char *text, int64_t capacity);

  /* Asks for the end, which follows within the drain time. */
  int64_t (*transfer_cancel)(hawser_handle transfer);

  /* Has the end of the present post signalled: agent_signal_to, agent_take_ended. */
  int64_t (*transfer_watch)(hawser_handle transfer);

  /* -------------------------------------------------------------------------------------------- notifications */

  /* The next notification: returns 1 if there is one. Waits for it for timeout ns; 0 only looks. */
  int64_t (*notification_next)(hawser_handle agent, int64_t timeout, hawser_notification *notification);

  /* Expects arrivals at a counter, in any order and from anybody; those that came before count. */
  int64_t (*expect)(hawser_handle agent, int64_t counter, int64_t arrivals, hawser_handle *expectation);

  /* 1 if all have arrived, else 0. */
  int64_t (*expectation_poll)(hawser_handle expectation);

  /* Waits for it; HAWSER_ERROR_TIMEOUT, or HAWSER_ERROR_TRANSFER with HAWSER_CAUSE_NONE once it was cancelled. */
  int64_t (*expectation_wait)(hawser_handle expectation, int64_t timeout);

  int64_t (*expectation_cancel)(hawser_handle expectation);

  /* Has its end signalled: agent_signal_to, agent_take_ended. */
  int64_t (*expectation_watch)(hawser_handle expectation);

  /* --------------------------------------------------------------------------------------------------- grants */

  /* Lends blocks: to one peer, or (0) to whoever gets the bytes; writable needs a peer. */
  int64_t (*grant_make)(hawser_handle agent, hawser_handle blocks, hawser_handle peer, int64_t writable,
                        hawser_handle *grant);

  /* The grant of the present generation, for the reader. */
  int64_t (*grant_bytes)(hawser_handle grant, void *bytes, int64_t capacity);

  /* Ends the present generation: afterwards the blocks may be overwritten. Reads under it end as STALE. */
  int64_t (*grant_bump)(hawser_handle grant);

  /* Ends the grant for good and releases the handle. HAWSER_ERROR_GRANT if a writer was not fenced in time. */
  int64_t (*grant_revoke)(hawser_handle grant, int64_t timeout);

  /* Reads a grant that a peer gave. */
  int64_t (*grant_accept)(hawser_handle agent, const void *bytes, int64_t count, hawser_handle *lent);

  int64_t (*lent_describe)(hawser_handle lent, hawser_lent *facts);

  /* ---------------------------------------------------------------------------------------------- the machine */

  /* Collects garbage now: for tests of how well the JVM keeps company. */
  int64_t (*collect_garbage)(void);

  /* Facts of the JVM as JSON: heap, threads, collections and their time in ms. */
  int64_t (*machine_describe)(char *json, int64_t capacity);

  /* ------------------------------------------------------------------------------------------------ since 1.1 */

  /* Has the memory of an allocated region stay mapped after its close, or its agent's: pointers to it stay good. From then
   * on the mapping is the caller's to munmap(address, result). Returns its bytes; 0 for memory that was not allocated by
   * region_allocate, which is the caller's anyway. */
  int64_t (*region_keep)(hawser_handle region);
} hawser_api;

#ifdef __cplusplus
}
#endif

#endif
