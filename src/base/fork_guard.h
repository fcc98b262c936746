// What a fork means for the library: the child closes every descriptor of the library at once, so that no connection
// stays half alive in it, and knows that it is a child. Not the owner of descriptors: that is Fd (fd.h).
//
// State of the process, like the table of descriptors that it describes; a handler of pthread_atfork takes no argument.
#pragma once

#include <cstdint>

namespace ronde::fork_guard {

// From now on a fork waits for open sections, and the child closes what is registered. False: out of memory. To be
// called once, by the owner of the Process object, not at load: programs that link only parts of the library fork as
// they like.
[[nodiscard]] bool watch();

// 1 until watch(), and after it; one more in each forked child. What remembers another number belongs to an ancestor.
[[nodiscard]] uint32_t generation();
[[nodiscard]] inline bool in_forked_child() { return generation() > 1; }

// While it lives no watched fork begins. For one system call that does not block, and what makes its result known: no
// allocation (whoever forks may hold the allocator), no second section. Signals wait, as a handler might fork. Leaves
// errno alone.
class Section {
 public:
  Section();
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  // Registers a descriptor that was made in this section and returns it; -1 stays -1. A number beyond what the register
  // holds is closed: -1 and EMFILE.
  [[nodiscard]] int keep(int fd) const;
  // Closes a descriptor of that generation, unless it is another one's by now.
  void close(int fd, uint32_t made_in) const;
};

}  // namespace ronde::fork_guard
