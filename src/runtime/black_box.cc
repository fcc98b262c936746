#include "runtime/black_box.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <deque>
#include <string>
#include <utility>

#include "base/file_size.h"
#include "base/host.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/launcher.h"
#include "runtime/black_box_reader.h"
#include "runtime/life_log.h"

namespace ronde {

using black_box::Area;
using black_box::AreaState;
using black_box::Head;

namespace {

// Areas that have ended stay readable until so many others have.
constexpr size_t kKeptAreas = 8;
// Boxes of other processes.
constexpr size_t kKeptBoxes = 4;

template <size_t N>
void copy_text(std::array<char, N>& target, std::string_view text) {
  target = {};
  std::copy_n(text.begin(), std::min(text.size(), N - 1), target.begin());
}

bool same_file(int a, int b) {
  struct stat of_a {};
  struct stat of_b {};
  return ::fstat(a, &of_a) == 0 && ::fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

std::string trace_dir() { return environment_variable("RONDE_TRACE_DIR").value_or(""); }

bool lives(uint32_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

template <typename T>
T* map_at(int fd, size_t offset) {
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  const off_t begin = fd >= 0 ? static_cast<off_t>(offset) : 0;
  const fork_guard::Section section;
  void* base = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, flags, fd, begin);
  if (base == MAP_FAILED) return nullptr;
  ::madvise(base, sizeof(T), MADV_DONTFORK);  // a forked child must not write what this process did
  return static_cast<T*>(base);
}

// In a forked child it is not mapped, and the program may have something else there.
template <typename T>
void unmap(T* base, const Fd& file) {
  if (!file.is_inherited()) ::munmap(base, sizeof(T));
}

}  // namespace

Result<Fd> make_black_box_file(const std::string& folder) {
  if (folder.empty()) {
    Fd memory = Fd::make([] { return ::memfd_create(black_box::kMemoryName, MFD_CLOEXEC | MFD_ALLOW_SEALING); });
    // Never shorter: a reader's mapping stays whole.
    if (!memory.valid() || ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
      return system_error("no memory file for a black box", errno);
    return memory;
  }
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  for (int number = 0;; ++number) {
    const std::string path =
        fmt::format("{}/{}.{}.{}.{}", folder, black_box::kMemoryName, host.data(), ::getpid(), number);
    Fd file = Fd::make([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); });
    if (file.valid()) return file;
    if (errno != EEXIST) return system_error("no black box in RONDE_TRACE_DIR: " + path, errno);
  }
}

// The memory file and which of its areas are free.
class BlackBox::File {
 public:
  explicit File(Fd given) : fd_(std::move(given)) {
    if (!fd_.valid() || !take_over()) make();
    if (head_ == nullptr) return;
    const std::string own = fmt::format("/proc/self/fd/{}", fd_.get());
    for_others_ = Fd::make([&] { return ::open(own.c_str(), O_RDONLY | O_CLOEXEC); });
  }
  ~File() {
    if (head_ != nullptr) unmap(head_, fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Null: there is no room.
  Area* take(size_t* number) {
    const std::scoped_lock lock(mutex_);
    if (head_ == nullptr) return nullptr;
    if (ended_.size() > kKeptAreas) {
      *number = ended_.front();
      ended_.pop_front();
    } else {
      *number = areas_++;
    }
    const size_t offset = sizeof(Head) + *number * sizeof(Area);
    // Zeros again, whoever used it before. The file never gets shorter: others may read it.
    ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), sizeof(Area));
    if (!reserve_in_file(fd_.get(), offset, sizeof(Area))) {
      ended_.push_back(*number);
      return nullptr;
    }
    auto* area = map_at<Area>(fd_.get(), offset);
    publish_unwatched(head_->areas, static_cast<uint32_t>(areas_));
    return area;
  }

  [[nodiscard]] int for_others() const { return for_others_.get(); }

  void give_back(Area* area, size_t number) {
    if (fd_.is_inherited()) return;
    publish_unwatched(area->state, AreaState::ended);
    unmap(area, fd_);
    const std::scoped_lock lock(mutex_);
    ended_.push_back(number);
  }

 private:
  // A file of the launcher: this process writes it if no other one that lives does.
  bool take_over() {
    if (!reserve_in_file(fd_.get(), 0, sizeof(Head))) return false;
    head_ = map_at<Head>(fd_.get(), 0);
    if (head_ == nullptr) return false;
    uint32_t owner = head_->pid.load();
    const auto self = static_cast<uint32_t>(::getpid());
    if ((owner != 0 && owner != self && lives(owner)) || !head_->pid.compare_exchange_strong(owner, self)) {
      ::munmap(std::exchange(head_, nullptr), sizeof(Head));
      return false;
    }
    write_head();
    return true;
  }

  void make() {
    Result<Fd> file = make_black_box_file(trace_dir());
    if (!file.ok()) {
      log::info("{}", file.status().message());
      return;
    }
    fd_ = std::move(*file);
    if (!reserve_in_file(fd_.get(), 0, sizeof(Head))) return;
    head_ = map_at<Head>(fd_.get(), 0);
    if (head_ == nullptr) return;
    head_->pid.store(static_cast<uint32_t>(::getpid()));
    write_head();
  }

  void write_head() const {
    publish_unwatched(head_->areas, 0u);
    head_->version = black_box::kVersion;
    head_->area_bytes = sizeof(Area);
    std::array<char, 64> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0) head_->host = host;
    copy_text(head_->program, program_invocation_short_name);
    head_->start_time = process_stat("self").start_time;
    publish_unwatched(head_->magic, black_box::kMagic);
  }

  std::mutex mutex_;
  Fd fd_;
  Fd for_others_;  // the same, for reading only
  Head* head_ = nullptr;
  size_t areas_ = 0;
  std::deque<size_t> ended_;  // numbers of areas, the one that ended first in front
};

BlackBox::BlackBox(int given) : file_(std::make_shared<File>(Fd::make([given] { return given; }))) {}
BlackBox::~BlackBox() = default;

int BlackBox::given_by_launcher() {
  const Result<int> fd = environment_number("RONDE_BLACK_BOX_FD", 0, INT_MAX);
  if (!fd.ok() || !is_black_box("/proc/self/fd/" + std::to_string(*fd))) return -1;
  ::fcntl(*fd, F_SETFD, FD_CLOEXEC);
  return *fd;
}

std::shared_ptr<Area> BlackBox::area_for(uint64_t job, uint32_t rank, uint32_t nranks, std::string_view name) {
  size_t number = 0;
  Area* area = file_->take(&number);
  std::shared_ptr<Area> result;
  if (area == nullptr) {
    if (!trace_dir().empty() && !told_.exchange(true))
      log::warn(
          "rank {} of {}: no room in RONDE_TRACE_DIR='{}' for its black box (perhaps a full file system, or ulimit -f "
          "or -n): "
          "what it does will not be found there",
          rank, nranks, trace_dir());
    log::info("rank {} of {}: no memory file for its black box", rank, nranks);
    result = private_area();
  } else {
    result = {area, [file = file_, number](Area* ended) { file->give_back(ended, number); }};
  }
  result->rank = rank;
  result->nranks = nranks;
  result->job = job;
  copy_text(result->name, name);
  LifeLog(result).enter(black_box::Phase::meeting);
  publish_unwatched(result->state, AreaState::in_use);
  return result;
}

int BlackBox::for_others() const { return file_->for_others(); }

void BlackBox::keep(std::shared_ptr<const Fd> other) {
  if (other == nullptr || same_file(other->get(), for_others())) return;
  const std::scoped_lock lock(kept_mutex_);
  std::erase_if(kept_, [&](const auto& kept) { return same_file(kept->get(), other->get()); });
  kept_.push_back(std::move(other));
  if (kept_.size() > kKeptBoxes) kept_.pop_front();
}

std::shared_ptr<Area> BlackBox::private_area() { return std::make_shared<Area>(); }

}  // namespace ronde
