// What one can ask of a communicator of ronde.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "api/handles.h"

using ronde::Status;
using ronde::api::check_comm;
using ronde::api::check_ready;
using ronde::api::guarded;
using ronde::api::not_null;

rondeResult_t rondeCommGetAsyncError(rondeComm_t comm, rondeResult_t* asyncError) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_comm(comm, "rondeCommGetAsyncError"));
    RONDE_TRY(not_null(asyncError, "rondeCommGetAsyncError", "asyncError"));
    const Status ready = comm->ready();
    *asyncError = ready.ok() ? comm->communicator->first_error().code() : ready.code();
    return {};
  });
}

rondeResult_t rondeCommGetFailedRanks(rondeComm_t comm, int* ranks, int capacity, int* number) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommGetFailedRanks"));
    RONDE_TRY(not_null(number, "rondeCommGetFailedRanks", "number"));
    if (capacity < 0) return {rondeInvalidArgument, "rondeCommGetFailedRanks: capacity is negative"};
    if (capacity > 0) RONDE_TRY(not_null(ranks, "rondeCommGetFailedRanks", "ranks"));
    const std::set<uint32_t> lost = comm->communicator->lost_ranks();
    int filled = 0;
    for (const uint32_t rank : lost) {
      if (filled < capacity) ranks[filled++] = static_cast<int>(rank);
    }
    *number = static_cast<int>(lost.size());
    return {};
  });
}

rondeResult_t rondeCommCount(const rondeComm_t comm, int* count) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommCount"));
    RONDE_TRY(not_null(count, "rondeCommCount", "count"));
    *count = comm->communicator->nranks();
    return {};
  });
}

rondeResult_t rondeCommUserRank(const rondeComm_t comm, int* rank) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommUserRank"));
    RONDE_TRY(not_null(rank, "rondeCommUserRank", "rank"));
    *rank = comm->communicator->rank();
    return {};
  });
}

rondeResult_t rondeCommDevice(const rondeComm_t comm, int* device) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommDevice"));
    RONDE_TRY(not_null(device, "rondeCommDevice", "device"));
    *device = RONDE_DEVICE_HOST;
    return {};
  });
}

rondeResult_t rondeCommGetTraffic(rondeComm_t comm, rondeTraffic_t* traffic, int capacity, int* number) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommGetTraffic"));
    RONDE_TRY(not_null(number, "rondeCommGetTraffic", "number"));
    if (capacity < 0) return {rondeInvalidArgument, "rondeCommGetTraffic: capacity is negative"};
    for (int i = 0; traffic != nullptr && i < capacity; ++i) {
      if (traffic[i].size >= sizeof(rondeTraffic_t)) continue;
      return {rondeInvalidArgument, "rondeCommGetTraffic: set size = sizeof(rondeTraffic_t) in each entry first"};
    }
    const std::vector<ronde::TransportTraffic> all = comm->communicator->traffic();
    const int filled = std::min(capacity, static_cast<int>(all.size()));
    if (filled > 0) RONDE_TRY(not_null(traffic, "rondeCommGetTraffic", "traffic"));
    for (int i = 0; i < filled; ++i) {
      rondeTraffic_t& entry = traffic[i];
      const ronde::TransportTraffic& found = all[static_cast<size_t>(i)];
      std::memset(entry.transport, 0, sizeof entry.transport);
      found.transport.copy(entry.transport, sizeof entry.transport - 1);
      entry.sentBytes = found.sent.payload;
      entry.receivedBytes = found.received.payload;
      entry.sentHeaderBytes = found.sent.heads;
      entry.receivedHeaderBytes = found.received.heads;
      entry.stagedBytes = found.sent.staged;
    }
    *number = static_cast<int>(all.size());
    return {};
  });
}

rondeResult_t rondeCommMemStats(rondeComm_t comm, rondeCommMemStat_t stat, uint64_t* value) {
  return guarded([&]() -> Status {
    RONDE_TRY(check_ready(comm, "rondeCommMemStats"));
    RONDE_TRY(not_null(value, "rondeCommMemStats", "value"));
    const ronde::MemoryUse use = comm->communicator->memory_use();
    switch (stat) {
      case rondeStatGpuMemSuspend:
      case rondeStatGpuMemSuspended:
      case rondeStatGpuMemPersist:
      case rondeStatGpuMemTotal: *value = 0; return {};
      case rondeStatHostMemSegment: *value = use.segment; return {};
      case rondeStatHostMemTouched: *value = use.touched; return {};
      case rondeStatHostMemWires: *value = use.wires; return {};
      case rondeStatHostMemPacking: *value = use.packing; return {};
      case rondeStatHostMemTotal: *value = use.touched + use.wires + use.packing; return {};
      case rondeStatProcessSharedMem: *value = ronde::api::process().shared_memory().in_use(); return {};
      case rondeStatProcessLibraryMem: *value = ronde::api::process().library_memory().in_use(); return {};
      case rondeStatProcessLibraryMemShared: *value = ronde::api::process().library_memory().shared_in_use(); return {};
      default: break;
    }
    return {rondeInvalidArgument,
            fmt::format("rondeCommMemStats: stat is {}: not one of rondeCommMemStat_t", static_cast<int>(stat))};
  });
}
