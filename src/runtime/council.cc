#include "runtime/council.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crypto.h"
#include "runtime/make_communicator.h"
#include "runtime/process.h"

namespace ronde {
namespace {

constexpr std::string_view kCannotJoin = "could not join the new communicator";

Result<std::unique_ptr<Rendezvous>> meet(Process& process, const NewRanks& ranks, const UniqueId& id,
                                         const RendezvousOptions& meeting, Deadline deadline) {
  return join(process.loop(), id, ranks.nranks, ranks.rank, meeting, deadline);
}

// A rank that starts alone needs no meeting point.
Result<UniqueId> id_of_one() {
  UniqueId id;
  RONDE_ASSIGN(id.job, random_number<uint64_t>());
  RONDE_ASSIGN(id.secret, Secret::random());
  return id;
}

}  // namespace

Outcome Outcome::of(const Status& status) {
  Outcome outcome;
  outcome.code = status.code();
  status.message().copy(outcome.text.data(), outcome.text.size() - 1);
  return outcome;
}

Status Outcome::told_by(uint32_t rank, std::string_view could_not) const {
  const auto* const end = std::find(text.begin(), text.end(), '\0');
  const bool concerns_all = code == rondeInvalidUsage || code == rondePeerLost;
  return {concerns_all ? static_cast<rondeResult_t>(code) : rondeRemoteError,
          fmt::format("rank {} of the communicator before {}: {}", rank, could_not, std::string(text.begin(), end))};
}

Council::Council(Communicator& communicator, Turn* turn, Purpose purpose, std::shared_ptr<FailureState> stop)
    : communicator_(communicator), turn_(turn), purpose_(purpose), stop_(std::move(stop)) {
  communicator_.gives_up(stop_);
  stop_->calls([this] {
    communicator_.abort();
    if (turn_ != nullptr) turn_->look_again();
  });
  if (turn_ != nullptr) has_turn_ = turn_->await(stop_->flag());
}

Council::~Council() {
  if (closed_) return;
  if (communicator_.first_error().ok()) communicator_.abort();
  close();
}

void Council::close() {
  closed_ = true;
  stop_->calls(nullptr);
  if (turn_ != nullptr) turn_->end();
}

Status Council::gather(ByteView mine, void* all) {
  if (!has_turn_) return stop_->first();
  OperationArgs args{mine.data(), all, mine.size(), rondeUint8, rondeSum, Collective::all_gather};
  args.purpose = purpose_;
  return communicator_.run(args);
}

Result<std::unique_ptr<Communicator>> start_together(Process& process, Council& council, const NewRanks& ranks,
                                                     const Result<UniqueId>& where, CommunicatorOptions options,
                                                     RendezvousOptions meeting, Deadline deadline) {
  meeting.stop = &options.stop->flag();
  meeting.why_stopped = [stop = options.stop] { return stop->first(); };
  const Result<UniqueId> id = ranks.nranks == 1 ? id_of_one() : where;
  auto rendezvous = !id.ok()            ? Result<std::unique_ptr<Rendezvous>>(id.status())
                    : ranks.nranks == 1 ? Result<std::unique_ptr<Rendezvous>>(std::move(local_rendezvous(1).front()))
                                        : meet(process, ranks, *id, meeting, deadline);
  const auto outcomes = council.hear(Outcome::of(rendezvous.status()));
  // Who has joined tells those that go on, or come from elsewhere.
  const auto refuse = [&](const Status& why) {
    if (rendezvous.ok()) (*rendezvous)->report(why);
    return why;
  };
  if (!outcomes.ok()) return refuse(outcomes.status());
  council.close();
  if (!rendezvous.ok()) return rendezvous.status();
  for (const uint32_t member : ranks.members) {
    const Outcome& outcome = (*outcomes)[member];
    if (!outcome.ok()) return refuse(outcome.told_by(member, kCannotJoin));
  }
  options.nranks = ranks.nranks;
  options.rank = ranks.rank;
  options.job = id->job;
  options.secret = id->secret;
  return make_rank(process, std::move(options), std::move(*rendezvous), deadline);
}

Status let_others_start(Council& council) {
  RONDE_TRY(council.hear(Outcome()));
  council.close();
  return {};
}

}  // namespace ronde
