// The collectives of ronde.h: argument checks, then the runtime.
#include <cstdint>
#include <numeric>

#include "api/arguments.h"
#include "api/calls.h"
#include "api/group.h"
#include "api/handles.h"

namespace ronde::api {
namespace {

// A handle of a reduction that the program has made is replaced by that.
void name_created(OperationArgs& args, Communicator& communicator) {
  if (is_built_in_op(args.op)) return;
  args.created = communicator.reductions().find(args.op);
  if (args.created != nullptr) args.op = op_of(*args.created);
}

Status start(const char* function, OperationArgs& args, rondeComm_t comm, rondeStream_t stream) {
  if (stream != nullptr) RONDE_TRY(check_stream(stream, function));
  Communicator& communicator = *comm->communicator;
  if (schedule::reduces(args.what)) name_created(args, communicator);
  RONDE_TRY(check_arguments(function, args, communicator.rank(), communicator.nranks()));
  return start_call(std::move(args), comm, stream);
}

rondeResult_t collective(const char* function, OperationArgs args, rondeComm_t comm, rondeStream_t stream) {
  return guarded([&]() -> Status {
    const auto run = [&]() -> Status {
      RONDE_TRY(check_callable(comm, function));
      return start(function, args, comm, stream);
    };
    return remembered_by_group(said_by(function, run()));
  });
}

// Blocks of a send buffer may overlap: so many may be more than memory can hold, which check_arguments finds.
size_t total_of(const std::vector<schedule::Range>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), size_t{0}, [](size_t sum, const schedule::Range& block) {
    return sum > SIZE_MAX - block.count ? SIZE_MAX : sum + block.count;
  });
}

// Counts and displacements of the blocks of all ranks in a buffer, as a caller gives them.
struct BlockLists {
  const char* name = nullptr;  // of the counts; none: no such blocks
  const size_t* counts = nullptr;
  const size_t* displacements = nullptr;
};

Status add_blocks(const char* function, const BlockLists& given, OperationArgs& args, int nranks,
                  std::vector<schedule::Range>& blocks) {
  if (given.name == nullptr) return {};
  RONDE_ASSIGN(blocks, blocks_of(function, given.name, given.counts, given.displacements, nranks, args.type));
  return {};
}

// One with uneven blocks. Only the root reads the lists of an operation that has one.
rondeResult_t uneven_collective(const char* function, OperationArgs args, const BlockLists& send,
                                const BlockLists& receive, rondeComm_t comm, rondeStream_t stream) {
  return guarded([&]() -> Status {
    const auto run = [&]() -> Status {
      RONDE_TRY(check_callable(comm, function));
      const int nranks = comm->communicator->nranks();
      auto blocks = std::make_shared<UnevenBlocks>();
      if (!schedule::has_root(args.what) || comm->communicator->rank() == args.root) {
        RONDE_TRY(add_blocks(function, send, args, nranks, blocks->send));
        RONDE_TRY(add_blocks(function, receive, args, nranks, blocks->receive));
      }
      if (args.what == Collective::all_gather) args.count = total_of(blocks->receive);
      if (args.what == Collective::reduce_scatter) args.count = total_of(blocks->send);
      args.uneven = true;
      args.blocks = std::move(blocks);
      return start(function, args, comm, stream);
    };
    return remembered_by_group(said_by(function, run()));
  });
}

}  // namespace
}  // namespace ronde::api

using ronde::Collective;
using ronde::OperationArgs;
using ronde::api::collective;
using ronde::api::uneven_collective;

rondeResult_t rondeAllReduce(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                             rondeRedOp_t op, rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeAllReduce", {sendbuff, recvbuff, count, datatype, op}, comm, stream);
}

rondeResult_t rondeReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, rondeDataType_t datatype,
                                 rondeRedOp_t op, rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeReduceScatter", {sendbuff, recvbuff, recvcount, datatype, op, Collective::reduce_scatter},
                    comm, stream);
}

rondeResult_t rondeAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, rondeDataType_t datatype,
                             rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeAllGather", {sendbuff, recvbuff, sendcount, datatype, rondeSum, Collective::all_gather}, comm,
                    stream);
}

rondeResult_t rondeBroadcast(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype, int root,
                             rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeBroadcast", {sendbuff, recvbuff, count, datatype, rondeSum, Collective::broadcast, root},
                    comm, stream);
}

rondeResult_t rondeBcast(void* buff, size_t count, rondeDataType_t datatype, int root, rondeComm_t comm,
                         rondeStream_t stream) {
  return collective("rondeBcast", {buff, buff, count, datatype, rondeSum, Collective::broadcast, root}, comm, stream);
}

rondeResult_t rondeReduce(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype, rondeRedOp_t op,
                          int root, rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeReduce", {sendbuff, recvbuff, count, datatype, op, Collective::reduce, root}, comm, stream);
}

rondeResult_t rondeAlltoAll(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype,
                            rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeAlltoAll", {sendbuff, recvbuff, count, datatype, rondeSum, Collective::all_to_all}, comm,
                    stream);
}

rondeResult_t rondeGather(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype, int root,
                          rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeGather", {sendbuff, recvbuff, count, datatype, rondeSum, Collective::gather, root}, comm,
                    stream);
}

rondeResult_t rondeScatter(const void* sendbuff, void* recvbuff, size_t count, rondeDataType_t datatype, int root,
                           rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeScatter", {sendbuff, recvbuff, count, datatype, rondeSum, Collective::scatter, root}, comm,
                    stream);
}

rondeResult_t rondeBarrier(rondeComm_t comm, rondeStream_t stream) {
  return collective("rondeBarrier", {nullptr, nullptr, 0, rondeUint8, rondeSum, Collective::barrier}, comm, stream);
}

rondeResult_t rondeAllGatherV(const void* sendbuff, void* recvbuff, const size_t* recvcounts, const size_t* displs,
                              rondeDataType_t datatype, rondeComm_t comm, rondeStream_t stream) {
  return uneven_collective("rondeAllGatherV", {sendbuff, recvbuff, 0, datatype, rondeSum, Collective::all_gather}, {},
                           {"recvcounts", recvcounts, displs}, comm, stream);
}

rondeResult_t rondeReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* recvcounts, const size_t* displs,
                                  rondeDataType_t datatype, rondeRedOp_t op, rondeComm_t comm, rondeStream_t stream) {
  return uneven_collective("rondeReduceScatterV", {sendbuff, recvbuff, 0, datatype, op, Collective::reduce_scatter},
                           {"recvcounts", recvcounts, displs}, {}, comm, stream);
}

rondeResult_t rondeAlltoAllV(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls, void* recvbuff,
                             const size_t* recvcounts, const size_t* rdispls, rondeDataType_t datatype,
                             rondeComm_t comm, rondeStream_t stream) {
  return uneven_collective("rondeAlltoAllV", {sendbuff, recvbuff, 0, datatype, rondeSum, Collective::all_to_all},
                           {"sendcounts", sendcounts, sdispls}, {"recvcounts", recvcounts, rdispls}, comm, stream);
}

rondeResult_t rondeGatherV(const void* sendbuff, size_t sendcount, void* recvbuff, const size_t* recvcounts,
                           const size_t* displs, rondeDataType_t datatype, int root, rondeComm_t comm,
                           rondeStream_t stream) {
  return uneven_collective("rondeGatherV",
                           {sendbuff, recvbuff, sendcount, datatype, rondeSum, Collective::gather, root}, {},
                           {"recvcounts", recvcounts, displs}, comm, stream);
}

rondeResult_t rondeScatterV(const void* sendbuff, const size_t* sendcounts, const size_t* displs, void* recvbuff,
                            size_t recvcount, rondeDataType_t datatype, int root, rondeComm_t comm,
                            rondeStream_t stream) {
  return uneven_collective("rondeScatterV",
                           {sendbuff, recvbuff, recvcount, datatype, rondeSum, Collective::scatter, root},
                           {"sendcounts", sendcounts, displs}, {}, comm, stream);
}
