// Status and Result: how functions inside the library say that something went wrong.
// A Status is one pointer; null means success, so the fast path costs a compare. No exceptions of our own.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ronde/ronde.h"

namespace ronde {

class [[nodiscard]] Status {
 public:
  Status() = default;
  // code must not be rondeSuccess. message says operation, ranks, cause and what the user can change.
  Status(rondeResult_t code, std::string message) : error_(new Error{code, std::move(message)}) {
    assert(code != rondeSuccess);
  }

  [[nodiscard]] bool ok() const { return error_ == nullptr; }
  [[nodiscard]] rondeResult_t code() const { return error_ ? error_->code : rondeSuccess; }
  [[nodiscard]] const std::string& message() const {
    static const std::string none;
    return error_ ? error_->message : none;
  }

 private:
  struct Error {
    rondeResult_t code;
    std::string message;
  };
  std::shared_ptr<const Error> error_;  // shared: the first error of a communicator is returned many times
};

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                  // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const Status& status() const { return status_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

namespace internal {
inline const Status& status_of(const Status& status) { return status; }
template <typename T>
const Status& status_of(const Result<T>& result) {
  return result.status();
}
}  // namespace internal

// Status with the system's own reason: "<what>: <strerror> (errno N)".
Status system_error(const std::string& what, int error_number);

}  // namespace ronde

#define RONDE_CONCAT_(a, b) a##b
#define RONDE_CONCAT(a, b) RONDE_CONCAT_(a, b)

// Evaluates a Status or Result expression and returns its Status from the function if it failed.
#define RONDE_TRY(expression)                                                                                \
  do {                                                                                                       \
    if (auto&& ronde_try_ = (expression); !ronde_try_.ok()) return ::ronde::internal::status_of(ronde_try_); \
  } while (false)

// RONDE_ASSIGN(auto x, f()): declares or assigns from a Result, or returns its Status.
#define RONDE_ASSIGN(target, expression)                                                                  \
  auto RONDE_CONCAT(ronde_result_, __LINE__) = (expression);                                              \
  if (!RONDE_CONCAT(ronde_result_, __LINE__).ok()) return RONDE_CONCAT(ronde_result_, __LINE__).status(); \
  target = std::move(*RONDE_CONCAT(ronde_result_, __LINE__))
