// With which sanitizer the test is built: GCC says so in macros, Clang through __has_feature.
#pragma once

#include <chrono>

#if !defined(__has_feature)
#define __has_feature(feature) 0  // NOLINT(bugprone-reserved-identifier): Clang's own name
#endif

namespace ronde::testing {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// Where each run costs many times as much, fewer do.
inline constexpr bool kSanitizer = kAddressSanitizer || kThreadSanitizer;

// A limit of what takes next to no time, on a machine with other work.
constexpr std::chrono::milliseconds at_once(int ms = 500) {
  return std::chrono::milliseconds(ms) * (kSanitizer ? 10 : 3);
}

}  // namespace ronde::testing
