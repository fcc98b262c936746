// What all comparisons in this folder share: ranks, and two ways that are measured alternately.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <functional>
#include <string>

namespace pairs {

// Ends the program with the library's text unless the result is success.
void must(rondeResult_t result, const char* what);

// Owns a communicator.
class Comm {
 public:
  explicit Comm(rondeComm_t comm) : comm_(comm) {}
  ~Comm() { rondeCommDestroy(comm_); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  [[nodiscard]] rondeComm_t get() const { return comm_; }

 private:
  rondeComm_t comm_;
};

// This process's rank of the job, with a communicator that serves the measurement itself.
class Job {
 public:
  Job();
  ~Job() { rondeCommDestroy(comm_); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int nranks() const { return nranks_; }
  // Another communicator of all ranks, with the settings that the environment has now.
  [[nodiscard]] rondeComm_t another() const;

  // Seconds from the moment when all ranks are ready until the last one has done the work.
  [[nodiscard]] double seconds(const std::function<void()>& work) const;
  // On all ranks what rank 0 has.
  [[nodiscard]] int from_first(int value) const;

 private:
  int rank_ = 0;
  int nranks_ = 1;
  rondeComm_t comm_ = nullptr;
};

// Medians over the pairs: microseconds of each way, and their ratio with its quartiles.
struct Comparison {
  double first_us = 0;
  double second_us = 0;
  double ratio = 0;  // first / second
  double low = 0;
  double high = 0;
};

using Way = std::function<void()>;  // does it once

// Measures both ways `rounds` times, alternately, in turn this one and that one first. Each sample repeats its way for
// about sample_ms.
Comparison compare(const Job& job, const Way& first, const Way& second, int rounds, double sample_ms = 20);

// "| 64 KiB | 12.3 | 10.1 | 1.22 (1.20 to 1.25) |"
std::string row(const std::string& name, const Comparison& found);
// "8 B", "64 KiB".
std::string size_text(std::size_t bytes);

// The comparisons; each prints a table on rank 0.
void two_at_once(const Job& job, int rounds);
void group_and_one_call(const Job& job, int rounds, const std::string& trace);
void reproducible_or_not(const Job& job, int rounds);

}  // namespace pairs
