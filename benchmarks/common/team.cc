#include "common/team.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "common/data_types.h"
#include "common/values.h"

namespace perf {

Team::Team(int size, int nranks, bool null_stream, Progress* progress)
    : nranks_(nranks),
      null_stream_(null_stream),
      progress_(progress),
      comms_(static_cast<std::size_t>(size), RONDE_COMM_NULL),
      streams_(static_cast<std::size_t>(size), nullptr) {}

Team::~Team() {
  // Results were checked before; what goes wrong here cannot change what was measured.
  for (rondeStream_t stream : streams_) (void)rondeStreamDestroy(stream);
  for (rondeComm_t comm : comms_) (void)rondeCommDestroy(comm);
}

void Team::join(const rondeUniqueId& id) {
  enter("joining the communicator", 0);
  start("rondeCommInitRank", 1,
        [&](int i, int) { return rondeCommInitRank(&comms_[static_cast<std::size_t>(i)], nranks_, id, rank(i)); });
  if (null_stream_) return;
  for (rondeStream_t& stream : streams_) check(rondeStreamCreate(&stream), "rondeStreamCreate");
}

void Team::select(rondeDataType_t type, rondeRedOp_t op) {
  for (std::size_t i = 0; i < mulsums_.size(); ++i)
    check(rondeRedOpDestroy(mulsums_[i], comms_[i]), "rondeRedOpDestroy");
  mulsums_.clear();
  if (op != kMulSum) return;
  const TypeInfo& info = type_info(type);
  for (int i = 0; i < size(); ++i) {
    const int scalar = mulsum_scalar(rank(i));
    std::byte element[8];
    store_bits(info, info.kind == Kind::kFloat ? encode(info, scalar) : static_cast<std::uint64_t>(scalar), element);
    rondeRedOp_t made = rondeSum;
    check(rondeRedOpCreatePreMulSum(&made, element, type, rondeScalarHostImmediate, comm(i)),
          "rondeRedOpCreatePreMulSum");
    mulsums_.push_back(made);
  }
}

rondeRedOp_t Team::reduction(int i, rondeRedOp_t op) const {
  return op == kMulSum ? mulsums_[static_cast<std::size_t>(i)] : op;
}

void Team::synchronize() {
  if (null_stream_) return;
  for (rondeStream_t stream : streams_) check(rondeStreamSynchronize(stream), "rondeStreamSynchronize");
}

void Team::barrier() {
  std::vector<unsigned char> nothing(1);
  sum(&nothing);
}

void Team::reduce(std::vector<double>* values, rondeRedOp_t op) {
  reduce_any(values->data(), values->size(), sizeof(double), rondeFloat64, op);
}

void Team::sum(std::vector<std::uint64_t>* values) {
  reduce_any(values->data(), values->size(), sizeof(std::uint64_t), rondeUint64, rondeSum);
}

void Team::sum(std::vector<unsigned char>* values) {
  reduce_any(values->data(), values->size(), 1, rondeUint8, rondeSum);
}

void Team::reduce_any(void* values, std::size_t count, std::size_t bytes, rondeDataType_t type, rondeRedOp_t op) {
  // The first rank speaks for the team. The others give zeros to a sum, the same values to a minimum or maximum.
  std::vector<std::vector<std::byte>> own(comms_.size(), std::vector<std::byte>(count * bytes));
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (i == 0 || op != rondeSum) std::memcpy(own[i].data(), values, count * bytes);
  }
  start("rondeAllReduce of the benchmark itself", 1, [&](int i, int) {
    void* buffer = own[static_cast<std::size_t>(i)].data();
    return rondeAllReduce(buffer, buffer, count, type, op, comm(i), nullptr);
  });
  std::memcpy(values, own[0].data(), count * bytes);
}

void Team::check(rondeResult_t result, const char* call) const {
  if (result == rondeSuccess) return;
  int failed = 0;
  for (int i = size() - 1; i >= 0; --i) {
    rondeResult_t state = rondeSuccess;
    if (comm(i) != RONDE_COMM_NULL && rondeCommGetAsyncError(comm(i), &state) == rondeSuccess &&
        state != rondeSuccess) {
      failed = i;
    }
  }
  std::string text = comm(failed) != RONDE_COMM_NULL ? rondeGetLastError(comm(failed)) : "";
  if (text.empty()) text = rondeGetLastError(nullptr);
  throw LibraryError(fmt::format("rank {}: {} failed ({}, {} bytes): {}{}{}", rank(failed), call, progress_->phase(),
                                 progress_->bytes(), rondeGetErrorString(result), text.empty() ? "" : ": ", text));
}

void Team::abort() {
  for (rondeComm_t comm : comms_) {
    if (comm != RONDE_COMM_NULL) (void)rondeCommAbort(comm);
  }
}

}  // namespace perf
