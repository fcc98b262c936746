// The collectives of ronde.h: argument checks, then the runtime.
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
  if (args.created != nullptr) args.op = args.created->is_user_defined() ? kUserDefined : kPreMulSum;
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
      RONDE_TRY(check_ready(comm, function));
      return start(function, args, comm, stream);
    };
    return remembered_by_group(said_by(function, run()));
  });
}

// One with uneven blocks: fill(args, blocks, nranks) completes them, or says what is wrong.
template <typename Fill>
rondeResult_t uneven_collective(const char* function, OperationArgs args, rondeComm_t comm, rondeStream_t stream,
                                const Fill& fill) {
  return guarded([&]() -> Status {
    const auto run = [&]() -> Status {
      RONDE_TRY(check_ready(comm, function));
      auto blocks = std::make_shared<UnevenBlocks>();
      RONDE_TRY(fill(args, *blocks, comm->communicator->rank(), comm->communicator->nranks()));
      args.uneven = true;
      args.blocks = std::move(blocks);
      return start(function, args, comm, stream);
    };
    return remembered_by_group(said_by(function, run()));
  });
}

size_t total_of(const std::vector<schedule::Range>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), size_t{0},
                         [](size_t sum, const schedule::Range& block) { return sum + block.count; });
}

}  // namespace
}  // namespace ronde::api

using ronde::Collective;
using ronde::OperationArgs;
using ronde::Status;
using ronde::UnevenBlocks;
using ronde::api::blocks_of;
using ronde::api::collective;
using ronde::api::total_of;
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
  const OperationArgs args{sendbuff, recvbuff, 0, datatype, rondeSum, Collective::all_gather};
  const auto fill = [&](OperationArgs& made, UnevenBlocks& blocks, int, int nranks) -> Status {
    RONDE_ASSIGN(blocks.receive, blocks_of("rondeAllGatherV", "recvcounts", recvcounts, displs, nranks, datatype));
    made.count = total_of(blocks.receive);
    return {};
  };
  return uneven_collective("rondeAllGatherV", args, comm, stream, fill);
}

rondeResult_t rondeReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* recvcounts, const size_t* displs,
                                  rondeDataType_t datatype, rondeRedOp_t op, rondeComm_t comm, rondeStream_t stream) {
  const OperationArgs args{sendbuff, recvbuff, 0, datatype, op, Collective::reduce_scatter};
  const auto fill = [&](OperationArgs& made, UnevenBlocks& blocks, int, int nranks) -> Status {
    RONDE_ASSIGN(blocks.send, blocks_of("rondeReduceScatterV", "recvcounts", recvcounts, displs, nranks, datatype));
    made.count = total_of(blocks.send);
    return {};
  };
  return uneven_collective("rondeReduceScatterV", args, comm, stream, fill);
}

rondeResult_t rondeAlltoAllV(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls, void* recvbuff,
                             const size_t* recvcounts, const size_t* rdispls, rondeDataType_t datatype,
                             rondeComm_t comm, rondeStream_t stream) {
  const OperationArgs args{sendbuff, recvbuff, 0, datatype, rondeSum, Collective::all_to_all};
  const auto fill = [&](OperationArgs&, UnevenBlocks& blocks, int, int nranks) -> Status {
    RONDE_ASSIGN(blocks.send, blocks_of("rondeAlltoAllV", "sendcounts", sendcounts, sdispls, nranks, datatype));
    RONDE_ASSIGN(blocks.receive, blocks_of("rondeAlltoAllV", "recvcounts", recvcounts, rdispls, nranks, datatype));
    return {};
  };
  return uneven_collective("rondeAlltoAllV", args, comm, stream, fill);
}

rondeResult_t rondeGatherV(const void* sendbuff, size_t sendcount, void* recvbuff, const size_t* recvcounts,
                           const size_t* displs, rondeDataType_t datatype, int root, rondeComm_t comm,
                           rondeStream_t stream) {
  const OperationArgs args{sendbuff, recvbuff, sendcount, datatype, rondeSum, Collective::gather, root};
  const auto fill = [&](OperationArgs&, UnevenBlocks& blocks, int rank, int nranks) -> Status {
    if (rank != root) return {};
    RONDE_ASSIGN(blocks.receive, blocks_of("rondeGatherV", "recvcounts", recvcounts, displs, nranks, datatype));
    return {};
  };
  return uneven_collective("rondeGatherV", args, comm, stream, fill);
}

rondeResult_t rondeScatterV(const void* sendbuff, const size_t* sendcounts, const size_t* displs, void* recvbuff,
                            size_t recvcount, rondeDataType_t datatype, int root, rondeComm_t comm,
                            rondeStream_t stream) {
  const OperationArgs args{sendbuff, recvbuff, recvcount, datatype, rondeSum, Collective::scatter, root};
  const auto fill = [&](OperationArgs&, UnevenBlocks& blocks, int rank, int nranks) -> Status {
    if (rank != root) return {};
    RONDE_ASSIGN(blocks.send, blocks_of("rondeScatterV", "sendcounts", sendcounts, displs, nranks, datatype));
    return {};
  };
  return uneven_collective("rondeScatterV", args, comm, stream, fill);
}
