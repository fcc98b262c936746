// Ronde for C++20: owning types, spans of elements and exceptions over the C API, and nothing else. It holds no state.
// What the functions do, which threads may call them and how long buffers live is said in ronde.h and holds here, too.
//
//  - What the C API returns as an error is thrown as ronde::Error; so are sizes of buffers that do not fit each other.
//  - Elements are given as anything that has data and a size: std::span, std::vector, std::array, an array. Their type
//    decides which rondeDataType_t it is; specialize ronde::DataType for types of your own (float16, bfloat16, float8).
//  - Objects are destroyed in the opposite order of their making: buffers, communicators, then reductions, streams and
//    events is a good order to declare them in, as a stream waits for its operations when it is destroyed.
//  - Communicators are not made inside a group here; the C functions can do that.
#pragma once

#if __cplusplus < 202002L
#error "ronde.hpp needs C++20 (-std=c++20)"
#else

#include <ronde/ronde.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ronde {
inline namespace v0 {

// ---- Errors ---------------------------------------------------------------------------------------------------------

// What a call has returned; what() begins with the name of that (rondeGetErrorString) and goes on with the text of the
// library, or of this header.
class Error : public std::runtime_error {
 public:
  Error(rondeResult_t result, const std::string& text) : std::runtime_error(text), result_(result) {}
  [[nodiscard]] rondeResult_t result() const noexcept { return result_; }

 private:
  rondeResult_t result_;
};

// Throws what is not rondeSuccess.
inline void check(rondeResult_t result) {
  if (result == rondeSuccess) return;
  std::string text = rondeGetErrorString(result);
  if (result != rondeInProgress) text.append(": ").append(rondeGetLastError(nullptr));
  throw Error(result, text);
}

namespace detail {

// An error that this header finds, in the form of those of the library.
[[noreturn]] inline void refuse(rondeResult_t result, const std::string& text) {
  throw Error(result, std::string(rondeGetErrorString(result)) + ": " + text);
}

}  // namespace detail

// ---- Elements -------------------------------------------------------------------------------------------------------

// Which element type of the library T is. For a type of your own:
//   template <> struct ronde::DataType<my::Half> : std::integral_constant<rondeDataType_t, rondeFloat16> {};
template <class T>
struct DataType {};

template <>
struct DataType<float> : std::integral_constant<rondeDataType_t, rondeFloat32> {};
template <>
struct DataType<double> : std::integral_constant<rondeDataType_t, rondeFloat64> {};
template <>
struct DataType<std::byte> : std::integral_constant<rondeDataType_t, rondeUint8> {};
template <>
struct DataType<char> : std::integral_constant<rondeDataType_t, rondeChar> {};
template <std::integral T>
requires(!std::same_as<T, bool> && sizeof(T) == 1) struct DataType<T>
    : std::integral_constant<rondeDataType_t, std::is_signed_v<T> ? rondeInt8 : rondeUint8> {
};
template <std::integral T>
requires(sizeof(T) == 4) struct DataType<T>
    : std::integral_constant<rondeDataType_t, std::is_signed_v<T> ? rondeInt32 : rondeUint32> {
};
template <std::integral T>
requires(sizeof(T) == 8) struct DataType<T>
    : std::integral_constant<rondeDataType_t, std::is_signed_v<T> ? rondeInt64 : rondeUint64> {
};

namespace detail {

constexpr std::size_t bytes_of(rondeDataType_t type) {
  switch (type) {
    case rondeInt32:
    case rondeUint32:
    case rondeFloat32: return 4;
    case rondeInt64:
    case rondeUint64:
    case rondeFloat64: return 8;
    case rondeFloat16:
    case rondeBfloat16: return 2;
    default: return 1;
  }
}

template <class R>
concept Sized = requires(R& range) {
  std::size(range);
};
template <class R>
concept Contiguous = Sized<R> && requires(R& range) {
  *std::data(range);
};

// The elements of something sized, of whatever type. What lies in bits or nodes has no addresses of elements.
template <class R>
struct ElementsOf {
  using Type = typename std::remove_cvref_t<R>::value_type;
};
template <Contiguous R>
struct ElementsOf<R> {
  using Type = std::remove_reference_t<decltype(*std::data(std::declval<R&>()))>;
};
template <class R>
using ElementOf = typename ElementsOf<R>::Type;
template <class R>
using ValueOf = std::remove_cv_t<ElementOf<R>>;

}  // namespace detail

template <class T>
concept Element = std::is_trivially_copyable_v<T> && sizeof(T) == detail::bytes_of(DataType<T>::value);

// Elements that lie one behind the other.
template <class R>
concept Input = detail::Contiguous<R> && Element<detail::ValueOf<R>>;
template <class R>
concept Output = Input<R> && !std::is_const_v<detail::ElementOf<R>>;

namespace detail {

// Says in words what is wrong with a buffer, which a concept that is not fulfilled would say in a page. To be
// instantiated before anything else that needs the elements.
template <class R>
struct CheckInput {
  static_assert(Contiguous<R>,
                "a buffer has its elements one behind the other: std::vector (not of bool), std::array, "
                "std::span, ronde::Buffer, an array");
  static_assert(Element<ValueOf<R>>,
                "elements of this type are not supported. Supported are char, signed and unsigned "
                "char, std::byte, integers of 4 and 8 bytes, float, double, and types of your own "
                "(float16, bfloat16, float8) for which ronde::DataType is specialized; not bool, "
                "and no integers of 2 bytes");
  static constexpr rondeDataType_t type() {
    if constexpr (Element<ValueOf<R>>) return DataType<ValueOf<R>>::value;
    return rondeNumTypes;
  }
};
template <class R>
struct CheckOutput : CheckInput<R> {
  static_assert(!std::is_const_v<ElementOf<R>>, "what is written to is const");
};
template <class In, class Out>
struct CheckBuffers {
  CheckInput<In> input;
  CheckOutput<Out> output;
  static_assert(std::same_as<ValueOf<In>, ValueOf<Out>>, "input and output are of different types");
};

}  // namespace detail

using Counts = std::span<const std::size_t>;  // one a rank; displacements may be left out: empty

// ---- Owners ---------------------------------------------------------------------------------------------------------

namespace detail {

struct Destroy {
  // What a destructor cannot say is in the log of the library.
  void operator()(rondeComm_t comm) const noexcept { static_cast<void>(rondeCommDestroy(comm)); }
  void operator()(rondeStream_t stream) const noexcept { static_cast<void>(rondeStreamDestroy(stream)); }
  void operator()(rondeEvent_t event) const noexcept { static_cast<void>(rondeEventDestroy(event)); }
};

// The only owner of a handle, or of none: made without one, moved from, or released.
template <class Opaque>
class Owner {
 public:
  Owner() noexcept = default;
  explicit Owner(Opaque* handle) noexcept : handle_(handle) {}
  [[nodiscard]] Opaque* get() const noexcept { return handle_.get(); }
  [[nodiscard]] Opaque* release() noexcept { return handle_.release(); }
  void reset() noexcept { handle_.reset(); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  std::unique_ptr<Opaque, Destroy> handle_;
};

// After it the end of the open group of this thread returns an error and starts nothing.
inline void spoil_group() noexcept { static_cast<void>(rondeBarrier(nullptr, nullptr)); }

}  // namespace detail

class Stream;

// A moment in a stream.
class Event : public detail::Owner<rondeEvent> {
 public:
  Event() : Owner(create()) {}
  explicit Event(rondeEvent_t owned) noexcept : Owner(owned) {}

  void record(const Stream& stream);
  [[nodiscard]] bool reached() const {
    const rondeResult_t result = rondeEventQuery(get());
    if (result != rondeInProgress) check(result);
    return result == rondeSuccess;
  }
  void synchronize() const { check(rondeEventSynchronize(get())); }

 private:
  static rondeEvent_t create() {
    rondeEvent_t event = nullptr;
    check(rondeEventCreate(&event));
    return event;
  }
};

// A queue of operations. Its destructor waits for them; synchronize() tells how they ended.
class Stream : public detail::Owner<rondeStream> {
 public:
  Stream() : Owner(create()) {}
  explicit Stream(rondeStream_t owned) noexcept : Owner(owned) {}

  // As an argument. One that was moved from is refused: NULL would mean to wait for the operation.
  operator rondeStream_t() const {
    if (!*this) detail::refuse(rondeInvalidArgument, "this ronde::Stream was moved from, and is no stream");
    return get();
  }

  void synchronize() const { check(rondeStreamSynchronize(get())); }
  [[nodiscard]] bool done() const {
    const rondeResult_t result = rondeStreamQuery(get());
    if (result != rondeInProgress) check(result);
    return result == rondeSuccess;
  }
  void wait(const Event& event) const { check(rondeStreamWaitEvent(get(), event.get())); }

  // Calls function(status) once, on a thread of the library, when what is on the stream has ended. It must not throw.
  template <std::invocable<rondeResult_t> Function>
  void launch(Function function) const {
    auto owned = std::make_unique<Function>(std::move(function));
    constexpr rondeHostFn_t kCall = [](rondeResult_t status, void* user) noexcept {
      const std::unique_ptr<Function> called(static_cast<Function*>(user));
      std::invoke(*called, status);
    };
    check(rondeLaunchHostFunc(get(), kCall, owned.get()));
    static_cast<void>(owned.release());
  }

 private:
  static rondeStream_t create() {
    rondeStream_t stream = nullptr;
    check(rondeStreamCreate(&stream));
    return stream;
  }
};

inline void Event::record(const Stream& stream) { check(rondeEventRecord(get(), stream.get())); }

// Calls between its making and end() begin together. Without end(), as when an exception passes, none of them is
// started, nor is anything of the groups around it, whose end() throws then.
class Group {
 public:
  Group() { check(rondeGroupStart()); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    if (!open_) return;
    detail::spoil_group();
    static_cast<void>(rondeGroupEnd());
  }
  void end() {
    if (!open_) detail::refuse(rondeInvalidUsage, "this ronde::Group has ended before");
    open_ = false;
    check(rondeGroupEnd());
  }

 private:
  bool open_ = true;
};

// Calls function() inside a group.
template <std::invocable Function>
void in_group(Function&& function) {
  Group group;
  std::invoke(std::forward<Function>(function));
  group.end();
}

// ---- Meeting and settings -------------------------------------------------------------------------------------------

struct Config : rondeConfig_t {
  Config() : rondeConfig_t RONDE_CONFIG_INITIALIZER {}
};

inline rondeUniqueId make_unique_id() {
  rondeUniqueId id;
  check(rondeGetUniqueId(&id));
  return id;
}

inline std::string to_text(const rondeUniqueId& id) {
  std::string text(RONDE_UNIQUE_ID_TEXT_BYTES, '\0');
  check(rondeUniqueIdToText(&id, text.data()));
  text.pop_back();
  return text;
}

inline rondeUniqueId unique_id_from_text(const std::string& text) {
  rondeUniqueId id;
  check(rondeUniqueIdFromText(text.c_str(), &id));
  return id;
}

// ---- Reductions -----------------------------------------------------------------------------------------------------

class Communicator;

// A reduction of the program's own, for elements of type T and operations of the communicator on which it was made.
// Destroy it first.
template <Element T>
class Reduction {
 public:
  // result[i] = function(left[i], right[i]). The function has no state (a lambda without captures, std::bit_and<>), as
  // it may be called after this object is gone. What has state: the next constructor.
  template <class Function>
  requires(std::is_invocable_r_v<T, const Function&, const T&, const T&>)
      Reduction(const Communicator& comm, Function /*function*/, bool commutative = true)
      : Reduction(comm, &apply<Function>, commutative, nullptr) {
    static_assert(std::is_empty_v<Function> && std::default_initializable<Function>,
                  "a reduction by a function with state (a lambda with captures, a pointer) is made by the constructor "
                  "that takes a rondeReduceFunction_t and the state as void* user");
  }
  // By a function as the C API takes it. user is handed to it, and lives until no operation needs the reduction.
  Reduction(const Communicator& comm, rondeReduceFunction_t function, bool commutative, void* user);
  // The sum of the inputs, each multiplied by the factor of its rank.
  static Reduction scaled_sum(const Communicator& comm, const T& factor);

  Reduction(Reduction&& other) noexcept
      : op_(std::exchange(other.op_, rondeMaxRedOp)), comm_(std::exchange(other.comm_, nullptr)) {}
  Reduction& operator=(Reduction&& other) noexcept {
    Reduction moved(std::move(other));
    std::swap(op_, moved.op_);
    std::swap(comm_, moved.comm_);
    return *this;
  }
  ~Reduction() {
    if (comm_ != nullptr) static_cast<void>(rondeRedOpDestroy(op_, comm_));
  }
  [[nodiscard]] rondeRedOp_t get() const noexcept { return op_; }

 private:
  Reduction(rondeRedOp_t op, rondeComm_t comm) noexcept : op_(op), comm_(comm) {}

  template <class Function>
  static void apply(const void* left, const void* right, void* result, std::size_t count, rondeDataType_t /*datatype*/,
                    void* /*user*/) noexcept {
    const Function function = Function();
    for (std::size_t i = 0; i < count; ++i)
      static_cast<T*>(result)[i] = function(static_cast<const T*>(left)[i], static_cast<const T*>(right)[i]);
  }

  rondeRedOp_t op_ = rondeMaxRedOp;  // no reduction: refused
  rondeComm_t comm_ = nullptr;
};

// What elements of type T are reduced by: one that is built in, or a Reduction<T>.
template <class T>
class Op {
 public:
  Op(rondeRedOp_t op) noexcept : op_(op) {}
  Op(const Reduction<T>& reduction) noexcept : op_(reduction.get()) {}
  [[nodiscard]] rondeRedOp_t get() const noexcept { return op_; }

 private:
  rondeRedOp_t op_;
};

namespace detail {

// What the elements of R are reduced by. Of types that are not supported anything: CheckInput says so in words.
template <class R>
using OpOf = Op<std::conditional_t<Element<ValueOf<R>>, ValueOf<R>, std::byte>>;

}  // namespace detail

// ---- Memory ---------------------------------------------------------------------------------------------------------

// Elements in memory of rondeMemAlloc, zeroes at first; none if it was moved from. No operation may need them any more
// when they go.
template <Element T>
class Buffer {
 public:
  Buffer() noexcept = default;
  explicit Buffer(std::size_t size) : elements_(allocate(size)), size_(size) {}
  Buffer(Buffer&& other) noexcept : elements_(std::move(other.elements_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    const std::size_t size = std::exchange(other.size_, 0);
    elements_ = std::move(other.elements_);
    size_ = size;
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() noexcept { return elements_.get(); }
  [[nodiscard]] const T* data() const noexcept { return elements_.get(); }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }

 private:
  struct Free {
    void operator()(T* elements) const noexcept { static_cast<void>(rondeMemFree(elements)); }
  };
  static T* allocate(std::size_t size) {
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    if (size == 0) return nullptr;
    void* memory = nullptr;
    check(rondeMemAlloc(&memory, size * sizeof(T)));
    return static_cast<T*>(memory);
  }

  std::unique_ptr<T, Free> elements_;
  std::size_t size_ = 0;
};

// ---- Communicators --------------------------------------------------------------------------------------------------

// A communicator as one rank sees it. Its destructor says goodbye to the others, and waits for what is queued on
// streams; abort() ends that first.
//
// A buffer that a rank does not need, as the output of a reduction to another root, may be anything, such as an empty
// span. With a stream, buffers must live until it is synchronized.
class Communicator : public detail::Owner<rondeComm> {
 public:
  Communicator() noexcept = default;
  explicit Communicator(rondeComm_t owned) noexcept : Owner(owned) {}

  // Making. With config.blocking = 0 they return at once, and async_error() is rondeInProgress until they are ready.

  // All processes of the job that a launcher started; this one alone if there is none.
  static Communicator world(rondeConfig_t* config = nullptr) {
    rondeWorld_t world{};
    world.size = sizeof(world);
    struct Secret {
      rondeUniqueId id;
      ~Secret() {
        for (volatile char& byte : id.internal) byte = 0;
      }
    } secret;
    check(rondeGetWorldFromEnv(&world, &secret.id));
    return join(world.nranks, secret.id, world.rank, config);
  }
  static Communicator join(int nranks, const rondeUniqueId& id, int rank, rondeConfig_t* config = nullptr) {
    return create([&](rondeComm_t* comm) { return rondeCommInitRankConfig(comm, nranks, id, rank, config); });
  }
  // All ranks in this process, by number.
  static std::vector<Communicator> all(int nranks) {
    std::vector<rondeComm_t> handles(nranks > 0 ? static_cast<std::size_t>(nranks) : 1);
    std::vector<Communicator> made;
    made.reserve(handles.size());
    check(rondeCommInitAll(handles.data(), nranks, nullptr));
    for (const rondeComm_t handle : handles) made.emplace_back(handle);
    return made;
  }
  // Of the ranks that have the same color, in the order of the keys; one without a color gets none (false).
  [[nodiscard]] Communicator split(int color, int key, rondeConfig_t* config = nullptr) const {
    return create([&](rondeComm_t* made) { return rondeCommSplit(get(), color, key, made, config); });
  }
  [[nodiscard]] Communicator dup(rondeConfig_t* config = nullptr) const {
    return create([&](rondeComm_t* made) { return rondeCommDup(get(), made, config); });
  }
  // Of the ranks that are left, without those of the list.
  [[nodiscard]] Communicator shrink(std::span<const int> excluded = {}, int flags = RONDE_SHRINK_DEFAULT,
                                    rondeConfig_t* config = nullptr) const {
    const int* const list = excluded.empty() ? nullptr : excluded.data();
    return create([&](rondeComm_t* made) {
      return rondeCommShrink(get(), list, static_cast<int>(excluded.size()), made, config, flags);
    });
  }
  // An id for ranks that join, who then call join_grown(), and those of this communicator grow().
  [[nodiscard]] rondeUniqueId unique_id() const {
    rondeUniqueId id;
    check(rondeCommGetUniqueId(get(), &id));
    return id;
  }
  [[nodiscard]] Communicator grow(int nranks, rondeConfig_t* config = nullptr) const {
    return create([&](rondeComm_t* made) { return rondeCommGrow(get(), nranks, nullptr, -1, made, config); });
  }
  static Communicator join_grown(int nranks, const rondeUniqueId& id, int rank, rondeConfig_t* config = nullptr) {
    return create([&](rondeComm_t* made) { return rondeCommGrow(nullptr, nranks, &id, rank, made, config); });
  }

  // Ending.

  void finalize() { check(rondeCommFinalize(get())); }
  void abort() const { check(rondeCommAbort(get())); }
  void revoke() const { check(rondeCommRevoke(get(), RONDE_REVOKE_DEFAULT)); }

  // Questions.

  [[nodiscard]] int size() const {
    int count = 0;
    check(rondeCommCount(get(), &count));
    return count;
  }
  [[nodiscard]] int rank() const {
    int rank = 0;
    check(rondeCommUserRank(get(), &rank));
    return rank;
  }
  [[nodiscard]] rondeResult_t async_error() const {
    rondeResult_t error = rondeSuccess;
    check(rondeCommGetAsyncError(get(), &error));
    return error;
  }
  [[nodiscard]] std::vector<int> failed_ranks() const {
    std::vector<int> ranks;
    int number = 0;
    do {  // more may have failed meanwhile
      ranks.resize(static_cast<std::size_t>(number));
      check(rondeCommGetFailedRanks(get(), ranks.data(), static_cast<int>(ranks.size()), &number));
    } while (static_cast<std::size_t>(number) > ranks.size());
    return ranks;
  }
  [[nodiscard]] std::vector<rondeTraffic_t> traffic() const {
    int number = 0;
    check(rondeCommGetTraffic(get(), nullptr, 0, &number));
    rondeTraffic_t empty{};
    empty.size = sizeof(empty);
    std::vector<rondeTraffic_t> entries(static_cast<std::size_t>(number), empty);
    check(rondeCommGetTraffic(get(), entries.data(), number, &number));
    return entries;
  }
  [[nodiscard]] std::uint64_t memory(rondeCommMemStat_t stat = rondeStatHostMemTotal) const {
    std::uint64_t value = 0;
    check(rondeCommMemStats(get(), stat, &value));
    return value;
  }

  // Collectives.

  void barrier(rondeStream_t stream = nullptr) const { check(rondeBarrier(get(), stream)); }

  template <detail::Sized In, detail::Sized Out>
  void all_reduce(const In& in, Out&& out, const detail::OpOf<In>& op, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    expect_size("all_reduce: the output", std::size(out), std::size(in));
    check(rondeAllReduce(std::data(in), std::data(out), std::size(in), type_of<In>, op.get(), get(), stream));
  }
  template <detail::Sized Buffer>
  void all_reduce(Buffer&& buffer, const detail::OpOf<Buffer>& op, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckOutput<Buffer>());
    all_reduce(buffer, buffer, op, stream);
  }

  template <detail::Sized In, detail::Sized Out>
  void reduce(const In& in, Out&& out, const detail::OpOf<In>& op, int root, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    if (rank() == root) expect_size("reduce: the output", std::size(out), std::size(in));
    check(rondeReduce(std::data(in), std::data(out), std::size(in), type_of<In>, op.get(), root, get(), stream));
  }
  // Writes the buffer of root only.
  template <detail::Sized Buffer>
  void reduce(Buffer&& buffer, const detail::OpOf<Buffer>& op, int root, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckOutput<Buffer>());
    reduce(buffer, buffer, op, root, stream);
  }

  template <detail::Sized In, detail::Sized Out>
  void reduce_scatter(const In& in, Out&& out, const detail::OpOf<In>& op, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    expect_blocks("reduce_scatter: the input", std::size(in), std::size(out));
    check(rondeReduceScatter(std::data(in), std::data(out), std::size(out), type_of<In>, op.get(), get(), stream));
  }
  // The result is the block of this rank, which is returned; the other blocks stay as they are.
  template <detail::Sized Buffer>
  auto reduce_scatter(Buffer&& buffer, const detail::OpOf<Buffer>& op, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckOutput<Buffer>());
    const auto own = own_block("reduce_scatter: the buffer", buffer);
    reduce_scatter(buffer, own, op, stream);
    return own;
  }
  template <detail::Sized In, detail::Sized Out>
  void reduce_scatter_v(const In& in, Out&& out, Counts counts, const detail::OpOf<In>& op, Counts displs = {},
                        rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    expect_layout("reduce_scatter_v: the input", std::size(in), counts, displs);
    expect_size("reduce_scatter_v: the output", std::size(out), counts[own()]);
    check(rondeReduceScatterV(std::data(in), std::data(out), counts.data(), given(displs), type_of<In>, op.get(), get(),
                              stream));
  }

  template <detail::Sized In, detail::Sized Out>
  void all_gather(const In& in, Out&& out, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    expect_blocks("all_gather: the output", std::size(out), std::size(in));
    check(rondeAllGather(std::data(in), std::data(out), std::size(in), type_of<In>, get(), stream));
  }
  // Each rank has filled its own block.
  template <detail::Sized Buffer>
  void all_gather(Buffer&& buffer, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckOutput<Buffer>());
    all_gather(own_block("all_gather: the buffer", buffer), buffer, stream);
  }
  template <detail::Sized In, detail::Sized Out>
  void all_gather_v(const In& in, Out&& out, Counts counts, Counts displs = {}, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    expect_layout("all_gather_v: the output", std::size(out), counts, displs);
    expect_size("all_gather_v: the input", std::size(in), counts[own()]);
    check(rondeAllGatherV(std::data(in), std::data(out), counts.data(), given(displs), type_of<In>, get(), stream));
  }

  // The input counts on root, the output everywhere.
  template <detail::Sized In, detail::Sized Out>
  void broadcast(const In& in, Out&& out, int root, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    if (rank() == root) expect_size("broadcast: the input", std::size(in), std::size(out));
    check(rondeBroadcast(std::data(in), std::data(out), std::size(out), type_of<In>, root, get(), stream));
  }
  template <detail::Sized Buffer>
  void broadcast(Buffer&& buffer, int root, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckOutput<Buffer>());
    check(rondeBcast(std::data(buffer), std::size(buffer), type_of<Buffer>, root, get(), stream));
  }

  template <detail::Sized In, detail::Sized Out>
  void all_to_all(const In& in, Out&& out, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    expect_size("all_to_all: the output", std::size(out), std::size(in));
    const std::size_t count = block_of("all_to_all: the input", std::size(in));
    check(rondeAlltoAll(std::data(in), std::data(out), count, type_of<In>, get(), stream));
  }
  template <detail::Sized Buffer>
  void all_to_all(Buffer&& buffer, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckOutput<Buffer>());
    all_to_all(buffer, buffer, stream);
  }
  template <detail::Sized In, detail::Sized Out>
  void all_to_all_v(const In& in, Counts send_counts, Out&& out, Counts recv_counts, Counts send_displs = {},
                    Counts recv_displs = {}, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    expect_layout("all_to_all_v: the input", std::size(in), send_counts, send_displs);
    expect_layout("all_to_all_v: the output", std::size(out), recv_counts, recv_displs);
    check(rondeAlltoAllV(std::data(in), send_counts.data(), given(send_displs), std::data(out), recv_counts.data(),
                         given(recv_displs), type_of<In>, get(), stream));
  }

  template <detail::Sized In, detail::Sized Out>
  void gather(const In& in, Out&& out, int root, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    if (rank() == root) expect_blocks("gather: the output", std::size(out), std::size(in));
    check(rondeGather(std::data(in), std::data(out), std::size(in), type_of<In>, root, get(), stream));
  }
  // counts and displs count on root.
  template <detail::Sized In, detail::Sized Out>
  void gather_v(const In& in, Out&& out, Counts counts, int root, Counts displs = {},
                rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    if (rank() == root) {
      expect_layout("gather_v: the output", std::size(out), counts, displs);
      expect_size("gather_v: the input", std::size(in), counts[own()]);
    }
    check(rondeGatherV(std::data(in), std::size(in), std::data(out), counts.data(), given(displs), type_of<In>, root,
                       get(), stream));
  }

  template <detail::Sized In, detail::Sized Out>
  void scatter(const In& in, Out&& out, int root, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    if (rank() == root) expect_blocks("scatter: the input", std::size(in), std::size(out));
    check(rondeScatter(std::data(in), std::data(out), std::size(out), type_of<In>, root, get(), stream));
  }
  // counts and displs count on root.
  template <detail::Sized In, detail::Sized Out>
  void scatter_v(const In& in, Counts counts, Out&& out, int root, Counts displs = {},
                 rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckBuffers<In, Out>());
    if (rank() == root) {
      expect_layout("scatter_v: the input", std::size(in), counts, displs);
      expect_size("scatter_v: the output", std::size(out), counts[own()]);
    }
    check(rondeScatterV(std::data(in), counts.data(), given(displs), std::data(out), std::size(out), type_of<In>, root,
                        get(), stream));
  }

  // Messages.

  template <detail::Sized In>
  void send(const In& in, int peer, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckInput<In>());
    check(rondeSend(std::data(in), std::size(in), type_of<In>, peer, get(), stream));
  }
  template <detail::Sized Out>
  void recv(Out&& out, int peer, rondeStream_t stream = nullptr) const {
    static_cast<void>(detail::CheckOutput<Out>());
    check(rondeRecv(std::data(out), std::size(out), type_of<Out>, peer, get(), stream));
  }

 private:
  template <class R>
  static constexpr rondeDataType_t type_of = detail::CheckInput<R>::type();

  // In a group such a function writes the handle at the end of the group, when nobody here waits for it any more.
  template <class Make>
  static Communicator create(Make&& make) {
    rondeComm_t made = nullptr;
    const auto unwritten = reinterpret_cast<rondeComm_t>(&made);
    made = unwritten;
    const rondeResult_t result = make(&made);
    if (result != rondeInProgress) check(result);
    if (made == unwritten) {
      detail::spoil_group();
      detail::refuse(rondeInvalidUsage,
                     "ronde.hpp makes no communicators inside a group: use Communicator::all for several "
                     "ranks of a process, or the C functions");
    }
    return Communicator(made);
  }

  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(rank()); }
  [[nodiscard]] std::size_t n() const { return static_cast<std::size_t>(size()); }
  static const std::size_t* given(Counts displs) { return displs.empty() ? nullptr : displs.data(); }

  [[noreturn]] static void refuse(const std::string& text) { detail::refuse(rondeInvalidArgument, text); }
  static void expect_size(const char* what, std::size_t size, std::size_t expected) {
    if (size != expected)
      refuse(std::string(what) + " has " + std::to_string(size) + " elements, not " + std::to_string(expected));
  }
  // The elements of one of n equal blocks.
  [[nodiscard]] std::size_t block_of(const char* what, std::size_t size) const {
    if (size % n() != 0)
      refuse(std::string(what) + " has " + std::to_string(size) + " elements, which are not equal blocks for " +
             std::to_string(n()) + " ranks");
    return size / n();
  }
  void expect_blocks(const char* what, std::size_t size, std::size_t block) const {
    if (size % n() != 0 || size / n() != block)
      refuse(std::string(what) + " has " + std::to_string(size) + " elements, not " + std::to_string(block) +
             " for each of " + std::to_string(n()) + " ranks");
  }
  template <class Buffer>
  auto own_block(const char* what, Buffer& buffer) const {
    const std::size_t count = block_of(what, std::size(buffer));
    return std::span(std::data(buffer), std::size(buffer)).subspan(own() * count, count);
  }
  // Blocks of these counts at these places lie inside of size elements.
  void expect_layout(const char* what, std::size_t size, Counts counts, Counts displs) const {
    if (counts.size() != n() || (!displs.empty() && displs.size() != n()))
      refuse(std::string(what) + ": there are " + std::to_string(counts.size()) + " counts and " +
             std::to_string(displs.size()) + " displacements for " + std::to_string(n()) + " ranks");
    std::size_t begin = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      if (!displs.empty()) begin = displs[r];
      if (begin > size || counts[r] > size - begin)
        refuse(std::string(what) + " has " + std::to_string(size) + " elements, and the block of rank " +
               std::to_string(r) + " ends behind them");
      begin += counts[r];
    }
  }
};

// Buffers of all ranks, which those of the same node may read. All ranks make it together, and it is destroyed before
// the communicator and before the buffer.
template <Element T>
class Window {
 public:
  Window(const Communicator& comm, Buffer<T>& own) : comm_(comm.get()), size_(own.size()) {
    check(rondeCommWindowRegister(comm_, own.data(), size_ * sizeof(T), &window_, RONDE_WIN_DEFAULT));
  }
  Window(Window&& other) noexcept
      : comm_(other.comm_), window_(std::exchange(other.window_, nullptr)), size_(other.size_) {}
  Window& operator=(Window&& other) noexcept {
    Window moved(std::move(other));
    std::swap(comm_, moved.comm_);
    std::swap(window_, moved.window_);
    std::swap(size_, moved.size_);
    return *this;
  }
  ~Window() {
    if (window_ != nullptr) static_cast<void>(rondeCommWindowDeregister(comm_, window_));
  }

  // What a rank has in its buffer; empty if that cannot be read from here.
  [[nodiscard]] std::span<const T> of(int rank) const {
    const void* elements = nullptr;
    check(rondeGetPeerPointer(window_, 0, rank, &elements));
    return {static_cast<const T*>(elements), elements == nullptr ? 0 : size_};
  }

 private:
  rondeComm_t comm_ = nullptr;
  rondeWindow_t window_ = nullptr;
  std::size_t size_ = 0;
};

template <Element T>
Reduction<T>::Reduction(const Communicator& comm, rondeReduceFunction_t function, bool commutative, void* user) {
  check(rondeRedOpCreate(&op_, function, commutative ? 1 : 0, user, comm.get()));
  comm_ = comm.get();
}

template <Element T>
Reduction<T> Reduction<T>::scaled_sum(const Communicator& comm, const T& factor) {
  rondeRedOp_t op = rondeMaxRedOp;
  check(rondeRedOpCreatePreMulSum(&op, &factor, DataType<T>::value, rondeScalarHostImmediate, comm.get()));
  return Reduction(op, comm.get());
}

}  // namespace v0
}  // namespace ronde

#endif  // C++20
