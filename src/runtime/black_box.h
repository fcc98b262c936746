// The black box of a process: what its ranks have done last, in a memory file that ronderun or ranks of the same host
// hold too, so that it outlives the process. Nothing here can fail a communicator: without a memory file the areas are
// memory of this process alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "runtime/black_box_layout.h"

namespace ronde {

// The file for a black box: without a name, so that it goes with the last process that holds it; or, if there is a
// folder (RONDE_TRACE_DIR), a file of mode 0600 there, which stays.
Result<Fd> make_black_box_file(const std::string& folder);

class BlackBox {
 public:
  // given: a memory file that a launcher holds too, which this object then owns (see given_by_launcher); -1: none.
  explicit BlackBox(int given = -1);
  ~BlackBox();
  BlackBox(const BlackBox&) = delete;
  BlackBox& operator=(const BlackBox&) = delete;

  // What RONDE_BLACK_BOX_FD names; -1 if that is no such file.
  static int given_by_launcher();

  // Any thread. The area is marked as ended and used again when the result goes, which may outlive this object.
  std::shared_ptr<black_box::Area> area_for(uint64_t job, uint32_t rank, uint32_t nranks, std::string_view name);

  // The memory file, for others to hold and to read; -1: none.
  [[nodiscard]] int for_others() const;
  // Holds the black box of another process of this host, so that it outlives that process: the last few that were
  // given. Any thread. Null: nothing.
  void keep(std::shared_ptr<const Fd> other);

  // For tests: an area of this process alone.
  static std::shared_ptr<black_box::Area> private_area();

 private:
  class File;
  std::shared_ptr<File> file_;
  std::atomic<bool> told_{false};  // that there is no room
  std::mutex kept_mutex_;
  std::deque<std::shared_ptr<const Fd>> kept_;  // one for each process, the last given at the end
};

}  // namespace ronde
