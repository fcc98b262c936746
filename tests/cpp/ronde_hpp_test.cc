// ronde.hpp with ranks as threads: who owns what, what each function does, and which errors become exceptions.
#include <catch2/catch.hpp>
#include <cmath>
#include <exception>
#include <functional>
#include <future>
#include <numeric>
#include <ronde/ronde.hpp>
#include <string>
#include <thread>
#include <vector>

struct Half {
  unsigned short bits;
};
template <>
struct ronde::DataType<Half> : std::integral_constant<rondeDataType_t, rondeFloat16> {};

namespace {

using ronde::Communicator;
using ronde::Error;
using Ints = std::vector<int>;

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

// Runs the body once for each rank of a communicator, in a thread of its own. What went wrong, or nothing.
std::string run_ranks(int nranks, const std::function<void(Communicator&, int rank)>& body) {
  std::vector<Communicator> comms = Communicator::all(nranks);
  std::vector<std::string> wrong(comms.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < comms.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        body(comms[i], static_cast<int>(i));
      } catch (const std::exception& error) {
        wrong[i] = "rank " + std::to_string(i) + ": " + error.what() + "\n";
        static_cast<void>(rondeCommAbort(comms[i].get()));  // the others would wait
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(wrong.begin(), wrong.end(), std::string());
}

// The error that the function throws; rondeSuccess and no text if it throws none.
template <class Function>
Error thrown_by(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return {rondeSuccess, ""};
}

template <class Function>
void expect_refused(Function&& function, const std::string& text) {
  const Error error = thrown_by(std::forward<Function>(function));
  expect(error.result() == rondeInvalidArgument, "not refused: " + text);
  expect(std::string(error.what()).rfind("invalid argument: ", 0) == 0, std::string("begins with \"") + error.what());
  expect(std::string(error.what()).find(text) != std::string::npos, std::string("says \"") + error.what() + "\"");
}

}  // namespace

TEST_CASE("owners move, also to themselves, and what was moved from owns nothing") {
  std::vector<Communicator> comms = Communicator::all(1);
  Communicator comm = std::move(comms[0]);
  CHECK_FALSE(comms[0]);
  CHECK(thrown_by([&] { static_cast<void>(comms[0].size()); }).result() == rondeInvalidArgument);
  CHECK(comm.size() == 1);
  Communicator& same = comm;
  comm = std::move(same);
  CHECK(comm.size() == 1);
  comm = comm.dup();  // the former one is destroyed
  CHECK(comm.rank() == 0);
  const Communicator taken(comm.release());
  CHECK_FALSE(comm);
  CHECK(taken.async_error() == rondeSuccess);

  ronde::Stream stream;
  ronde::Stream other = std::move(stream);
  Ints x(1, 5);
  CHECK(thrown_by([&] { taken.all_reduce(x, rondeSum, stream); }).result() == rondeInvalidArgument);
  taken.all_reduce(x, rondeSum, other);
  stream = std::move(other);
  stream.synchronize();
  CHECK(x[0] == 5);

  ronde::Event event;
  const ronde::Event moved = std::move(event);
  CHECK(moved.reached());
  CHECK(thrown_by([&] { static_cast<void>(event.reached()); }).result() == rondeInvalidArgument);

  ronde::Reduction<int> sum(taken, std::plus<>());
  ronde::Reduction<int> there = std::move(sum);
  ronde::Reduction<int>& itself = there;
  there = std::move(itself);
  taken.all_reduce(x, there);
  CHECK(thrown_by([&] { taken.all_reduce(x, sum); }).result() == rondeInvalidArgument);
}

TEST_CASE("an exception destroys what was made before it") {
  const Communicator comm = std::move(Communicator::all(1).front());
  for (int round = 0; round < 3; ++round) {
    Ints x(4, 1);
    const Error error = thrown_by([&] {
      const Communicator part = comm.dup();
      const ronde::Stream stream;
      const ronde::Reduction<int> product(part, std::multiplies<>());
      part.all_reduce(x, product, stream);
      part.broadcast(x, 7);  // there is no such root
    });
    CHECK(error.result() == rondeInvalidArgument);
    CHECK(std::string(error.what()).find("root") != std::string::npos);
  }
  comm.barrier();
}

TEST_CASE("every collective, out of place and in place") {
  CHECK(run_ranks(3, [](Communicator& comm, int rank) {
          const Ints own = {rank, rank + 10};
          Ints two(2);
          comm.all_reduce(own, two, rondeSum);
          expect(two == Ints{3, 33}, "all_reduce");
          two = own;
          comm.all_reduce(two, rondeMax);
          expect(two == Ints{2, 12}, "all_reduce in place");
          comm.reduce(own, rank == 1 ? std::span<int>(two) : std::span<int>(), rondeProd, 1);
          expect(rank != 1 || two == Ints{0, 10 * 11 * 12}, "reduce");
          Ints in_place = own;
          comm.reduce(in_place, rondeSum, 2);
          expect(in_place == (rank == 2 ? Ints{3, 33} : own), "reduce in place");

          Ints six(6);
          comm.all_gather(own, six);
          expect(six == Ints{0, 10, 1, 11, 2, 12}, "all_gather");
          Ints gathered(6, -1);
          std::copy(own.begin(), own.end(), gathered.begin() + 2 * rank);
          comm.all_gather(gathered);
          expect(gathered == six, "all_gather in place");
          comm.reduce_scatter(six, two, rondeSum);
          expect(two == Ints{3 * rank, 3 * (rank + 10)}, "reduce_scatter");
          const std::span<int> block = comm.reduce_scatter(gathered, rondeSum);
          expect(block.data() == gathered.data() + 2 * rank && block[1] == 3 * (rank + 10), "reduce_scatter in place");

          comm.broadcast(own, two, 2);
          expect(two == Ints{2, 12}, "broadcast");
          two = own;
          comm.broadcast(two, 1);
          expect(two == Ints{1, 11}, "broadcast in place");
          const Ints for_all(3, rank);
          Ints from_all(3);
          comm.all_to_all(for_all, from_all);
          expect(from_all == Ints{0, 1, 2}, "all_to_all");
          Ints exchanged(3, rank);
          comm.all_to_all(exchanged);
          expect(exchanged == Ints{0, 1, 2}, "all_to_all in place");
          comm.gather(own, rank == 0 ? std::span<int>(gathered) : std::span<int>(), 0);
          expect(rank != 0 || gathered == six, "gather");
          comm.scatter(rank == 0 ? std::span<int>(gathered) : std::span<int>(), two, 0);
          expect(two == own, "scatter");
          comm.barrier();
        }) == "");
}

TEST_CASE("blocks of different sizes, and messages") {
  CHECK(run_ranks(3, [](Communicator& comm, int rank) {
          const auto r = static_cast<size_t>(rank);
          const std::vector<size_t> counts = {1, 2, 3};
          const std::vector<size_t> displs = {5, 3, 0};
          const std::vector<long> own(counts[r], rank);
          std::vector<long> all(6);
          comm.all_gather_v(own, all, counts);
          expect(all == std::vector<long>{0, 1, 1, 2, 2, 2}, "all_gather_v");
          comm.all_gather_v(own, all, counts, displs);
          expect(all == std::vector<long>{2, 2, 2, 1, 1, 0}, "all_gather_v with displacements");
          std::vector<long> part(counts[r]);
          comm.reduce_scatter_v(all, part, counts, rondeSum, displs);
          expect(part == std::vector<long>(counts[r], 3 * rank), "reduce_scatter_v");
          std::vector<long> gathered(rank == 1 ? 6 : 0);
          comm.gather_v(own, gathered, rank == 1 ? ronde::Counts(counts) : ronde::Counts(), 1);
          expect(rank != 1 || gathered == std::vector<long>{0, 1, 1, 2, 2, 2}, "gather_v");
          comm.scatter_v(gathered, rank == 1 ? ronde::Counts(counts) : ronde::Counts(), part, 1);
          expect(part == own, "scatter_v");
          // Each rank sends s + 1 elements to rank s, and gets rank + 1 of each.
          const std::vector<size_t> wanted(3, counts[r]);
          std::vector<long> got(3 * counts[r]);
          comm.all_to_all_v(std::vector<long>(6, rank), counts, got, wanted);
          expect(got.front() == 0 && got.back() == 2, "all_to_all_v");

          const int next = (rank + 1) % 3;
          const double sent[2] = {rank + 0.5, 1};
          double received[2] = {};
          ronde::in_group([&] {
            comm.send(sent, next);
            comm.recv(received, (rank + 2) % 3);
          });
          expect(received[0] == (rank + 2) % 3 + 0.5, "send and recv");
        }) == "");
}

TEST_CASE("buffers that do not fit are refused before anything begins") {
  CHECK(run_ranks(2, [](Communicator& comm, int /*rank*/) {
          Ints two(2);
          Ints three(3);
          const std::vector<size_t> counts = {1, 2};
          const std::vector<size_t> far = {0, 2};
          expect_refused([&] { comm.all_reduce(two, three, rondeSum); },
                         "all_reduce: the output has 3 elements, not 2");
          expect_refused([&] { comm.all_gather(two, three); },
                         "all_gather: the output has 3 elements, not 2 for each of 2 ranks");
          expect_refused([&] { comm.all_gather(three); }, "all_gather: the buffer has 3 elements, which are not equal");
          expect_refused([&] { comm.reduce_scatter(three, two, rondeSum); }, "reduce_scatter: the input has 3");
          expect_refused([&] { comm.all_to_all(three, three); }, "all_to_all: the input has 3");
          expect_refused([&] { comm.all_gather_v(two, three, counts, far); },
                         "all_gather_v: the output has 3 elements, and the block of rank 1 ends behind them");
          expect_refused([&] { comm.all_gather_v(two, three, std::vector<size_t>{3}); }, "there are 1 counts");
          expect_refused([&] { comm.all_gather_v(three, three, counts); }, "all_gather_v: the input has 3");
          expect_refused([&] { comm.all_reduce(two, std::span(two).subspan(0, 2), static_cast<rondeRedOp_t>(77)); },
                         "rondeAllReduce");
          comm.all_reduce(two, rondeSum);  // nothing of all this is left
        }) == "");
}

TEST_CASE("reductions of the program and types of its own") {
  CHECK(run_ranks(3, [](Communicator& comm, int rank) {
          std::vector<double> x = {rank - 1.5};
          const ronde::Reduction<double> farthest(
              comm, [](double a, double b) { return std::abs(a) >= std::abs(b) ? a : b; });
          comm.all_reduce(x, farthest);
          expect(x[0] == -1.5, "farthest from zero");
          std::vector<float> y = {1};
          comm.all_reduce(y, ronde::Reduction<float>::scaled_sum(comm, static_cast<float>(rank + 1)));
          expect(y[0] == 6, "scaled_sum");
          // Not commutative: the last input of all.
          int last = rank;
          const ronde::Reduction<int> right(
              comm, [](int /*a*/, int b) { return b; }, false);
          comm.all_reduce(std::span(&last, 1), right);
          expect(last == 2, "the right one");
          Half half[2] = {{0x3c00}, {0x4000}};  // 1 and 2
          comm.all_reduce(half, rondeAvg);
          expect(half[0].bits == 0x3c00 && half[1].bits == 0x4000, "float16");
        }) == "");
}

TEST_CASE("streams, events and functions of the host") {
  CHECK(run_ranks(2, [](Communicator& comm, int /*rank*/) {
          Ints x(1000, 1);
          int seen = 0;
          std::promise<rondeResult_t> promise;
          const ronde::Stream first;
          const ronde::Stream second;
          ronde::Event summed;
          comm.all_reduce(x, rondeSum, first);
          summed.record(first);
          second.wait(summed);
          second.launch([&seen, &x, kept = std::make_unique<int>(1), &promise](rondeResult_t status) {
            seen = x[999] * *kept;
            promise.set_value(status);
          });
          expect(promise.get_future().get() == rondeSuccess, "status of the host function");
          expect(seen == 2, "what the host function saw");
          summed.synchronize();
          expect(summed.reached(), "event");
          second.synchronize();
          first.synchronize();
          expect(first.done(), "stream");
        }) == "");
}

TEST_CASE("a group that is not ended starts nothing, and can be made again") {
  const std::vector<Communicator> comms = Communicator::all(2);
  Ints x = {1, 2};
  const auto sum_all = [&] {
    for (size_t i = 0; i < 2; ++i) comms[i].all_reduce(std::span(x).subspan(i, 1), rondeSum);
  };
  CHECK_THROWS_AS(ronde::in_group([&] {
                    sum_all();
                    throw std::logic_error("of the program");
                  }),
                  std::logic_error);
  CHECK(x == Ints{1, 2});
  // A call that is refused, be it by the library or by this header.
  CHECK(thrown_by([&] {
          ronde::in_group([&] {
            sum_all();
            comms[0].broadcast(x, 9);
          });
        }).result() == rondeInvalidArgument);
  CHECK(thrown_by([&] {
          ronde::in_group([&] {
            sum_all();
            comms[0].all_reduce(x, Ints(3), rondeSum);
          });
        }).result() == rondeInvalidArgument);
  CHECK(x == Ints{1, 2});

  // An inner one that is given up takes the outer one along.
  ronde::Group outer;
  sum_all();
  { const ronde::Group inner; }
  CHECK(thrown_by([&] { outer.end(); }).result() == rondeInvalidArgument);
  CHECK(x == Ints{1, 2});
  CHECK(thrown_by([&] { outer.end(); }).result() == rondeInvalidUsage);

  ronde::in_group([&] { ronde::in_group(sum_all); });
  CHECK(x == Ints{3, 3});
}

TEST_CASE("a group makes no communicators here, and says so") {
  const std::vector<Communicator> comms = Communicator::all(2);
  const auto in_a_group = [&](const std::function<void()>& make) {
    return thrown_by([&] { ronde::in_group(make); }).result();
  };
  CHECK(in_a_group([&] { static_cast<void>(comms[0].dup()); }) == rondeInvalidUsage);
  CHECK(in_a_group([&] { static_cast<void>(comms[0].split(RONDE_SPLIT_NOCOLOR, 0)); }) == rondeInvalidUsage);
  CHECK(in_a_group([] { Communicator::join(1, ronde::make_unique_id(), 0); }) == rondeInvalidUsage);
}

TEST_CASE("communicators from ids, from others, and what they tell") {
  const rondeUniqueId id = ronde::make_unique_id();
  ronde::Config config;
  config.commName = "of two";
  std::thread other([&] {
    Communicator comm = Communicator::join(2, ronde::unique_id_from_text(ronde::to_text(id)), 1, &config);
    comm.finalize();
  });
  Communicator comm = Communicator::join(2, id, 0, &config);
  CHECK(comm.size() == 2);
  comm.finalize();
  other.join();
  CHECK(thrown_by([] { ronde::unique_id_from_text("ronde1:no"); }).result() == rondeInvalidArgument);
  CHECK(ronde::to_text(id).size() == RONDE_UNIQUE_ID_TEXT_BYTES - 1);

  CHECK(run_ranks(3, [](Communicator& all, int rank) {
          const Communicator pair = all.split(rank < 2 ? 1 : RONDE_SPLIT_NOCOLOR, -rank);
          expect(static_cast<bool>(pair) == (rank < 2), "split");
          expect(!pair || (pair.size() == 2 && pair.rank() == 1 - rank), "the order of the keys");
          if (rank == 2) return;
          const std::vector<int> excluded = {2};
          const Communicator left = all.shrink(excluded);
          expect(left.size() == 2 && all.failed_ranks().empty(), "shrink");
          const Communicator same = left.dup();
          Ints x(100, 1);
          same.all_reduce(x, rondeSum);
          expect(same.traffic().size() == 1 && same.memory() > 0, "traffic and memory");
        }) == "");
}

TEST_CASE("memory of the library, and windows of it") {
  CHECK(run_ranks(2, [](Communicator& comm, int rank) {
          ronde::Buffer<int> first(1000);
          ronde::Buffer<int> mine = std::move(first);
          expect(first.size() == 0 && first.data() == nullptr, "moved from");
          ronde::Buffer<int>& itself = mine;
          mine = std::move(itself);
          expect(mine.size() == 1000 && mine[999] == 0, "moved to itself");
          for (int& element : mine) element = rank + 1;
          comm.all_reduce(mine, rondeSum);
          ronde::Window<int> made(comm, mine);
          const ronde::Window<int> window = std::move(made);
          mine[1] = 10 + rank;
          comm.barrier();
          const std::span<const int> theirs = window.of(1 - rank);
          expect(theirs.size() == 1000 && theirs[0] == 3 && theirs[1] == 11 - rank, "what the other rank has");
          expect(thrown_by([&] { static_cast<void>(window.of(2)); }).result() == rondeInvalidArgument, "no such rank");
          comm.barrier();
          expect(ronde::Buffer<double>(0).data() == nullptr, "empty");
        }) == "");
}

TEST_CASE("a communicator grows, and an abort ends what waits") {
  const Communicator alone = Communicator::world();
  const rondeUniqueId id = alone.unique_id();
  std::thread joins([id] {
    const Communicator comm = Communicator::join_grown(2, id, 1);
    const Error error = thrown_by([&] { comm.barrier(); });
    static_cast<void>(error);  // the other one has aborted
  });
  const Communicator both = alone.grow(2);
  both.abort();
  const Error error = thrown_by([&] { both.barrier(); });
  joins.join();
  CHECK(error.result() == rondeAborted);
  CHECK(both.async_error() == rondeAborted);
  CHECK(std::string(error.what()).rfind(rondeGetErrorString(rondeAborted), 0) == 0);
}
