// With which sanitizer the test is built: GCC says so in macros, Clang through __has_feature.
#pragma once

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

}  // namespace ronde::testing
