// The loop over elements, once for each format and operation: blocks of a few vectors, single vectors, and a part of
// one at the ends. Compiled once for each instruction set, hence no #pragma once.
#if defined(RONDE_MEMORY_REDUCE_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDE_MEMORY_REDUCE_KERNEL_INL_H_
#undef RONDE_MEMORY_REDUCE_KERNEL_INL_H_
#else
#define RONDE_MEMORY_REDUCE_KERNEL_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/reduce_formats-inl.h"
#include "memory/reduce_ops-inl.h"
#include "memory/reduce_pass.h"

HWY_BEFORE_NAMESPACE();
namespace ronde {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// memcpy of less than 2 * kPiece bytes without a call.
template <size_t kPiece>
HWY_INLINE void copy_pieces(uint8_t* to, const uint8_t* from, size_t bytes) {
  if ((bytes & kPiece) != 0) {
    std::memcpy(to, from, kPiece);
    to += kPiece;
    from += kPiece;
  }
  if constexpr (kPiece > 1) copy_pieces<kPiece / 2>(to, from, bytes);
}

template <class Raw>
inline constexpr size_t kVectorBytes = hn::MaxLanes(Raw()) * sizeof(hn::TFromD<Raw>);

// Raw vectors as they lie in memory; bytes less than a vector: the others are zero, respectively not written.
template <class Raw>
HWY_INLINE hn::Vec<Raw> load_part(const uint8_t* from, size_t bytes) {
#if HWY_TARGET <= HWY_AVX3
  const hn::Repartition<uint8_t, Raw> d;
  return hn::BitCast(Raw(), hn::MaskedLoad(hn::FirstN(d, bytes), d, from));
#else
#if HWY_TARGET == HWY_AVX2
  // The way through a buffer waits until the store has left the processor's queue.
  if (bytes % sizeof(uint32_t) == 0) {
    const hn::Repartition<uint32_t, Raw> d;
    const hn::Mask<decltype(d)> mask = hn::FirstN(d, bytes / sizeof(uint32_t));
    return hn::BitCast(Raw(), hn::MaskedLoad(mask, d, reinterpret_cast<const uint32_t*>(from)));
  }
#endif
  HWY_ALIGN uint8_t buffer[kVectorBytes<Raw>] = {};
  copy_pieces<kVectorBytes<Raw> / 2>(buffer, from, bytes);
  return hn::Load(Raw(), reinterpret_cast<const hn::TFromD<Raw>*>(buffer));
#endif
}

template <class Raw>
HWY_INLINE void store_part(hn::Vec<Raw> raw, uint8_t* to, size_t bytes) {
#if HWY_TARGET <= HWY_AVX3
  const hn::Repartition<uint8_t, Raw> d;
  hn::BlendedStore(hn::BitCast(d, raw), hn::FirstN(d, bytes), d, to);
#else
  HWY_ALIGN uint8_t buffer[kVectorBytes<Raw>];
  hn::Store(raw, Raw(), reinterpret_cast<hn::TFromD<Raw>*>(buffer));
  copy_pieces<kVectorBytes<Raw> / 2>(to, buffer, bytes);
#endif
}

// kWide: partials are float32 although the format is narrower.
template <class Format, class Op, bool kWide>
class Kernel {
 public:
  Kernel(const ReducePass& pass, const Op& op) : pass_(pass), op_(op) {}

  void run() {
    size_t done = choose_streaming();
    if (done > 0) part(0, done);
    constexpr size_t kBlock = kElements * kBlockUnits;
    for (; done + kBlock <= pass_.count; done += kBlock) block<kBlockUnits, kUnrolledSources>(done);
    for (; done + kElements <= pass_.count; done += kElements) block<1, 1>(done);
    if (done < pass_.count) part(done, pass_.count - done);
    if (streams_[0] || streams_[1]) hwy::FlushStream();
  }

 private:
  using Raw = typename Format::Raw;
  using RawLane = hn::TFromD<Raw>;
  using RawVec = hn::Vec<Raw>;
  using Unit = typename Format::Unit;

  static constexpr size_t kRawBytes = kVectorBytes<Raw>;
  static constexpr size_t kElements = kRawBytes / Format::kElementBytes;  // of a unit
  static constexpr bool kFloat8 = Format::kNarrow && Format::kElementBytes == 1;
  // Enough independent work to hide latencies. float8 is bound by its conversion.
  static constexpr size_t kBlockUnits = kFloat8 ? 1 : 8 / Unit::kVectors;
  // Processors foresee what a load instruction will read next by its steps so far: so each source has instructions of
  // its own (4 sources of bfloat16 from memory: 17 GB/s without, 39 with). Not where it would only be large.
  static constexpr bool kOldProcessor = HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128;
  static constexpr size_t kUnrolledSources = kFloat8 || kWide || kOldProcessor ? 1 : 8;

  // Decides which targets get non-temporal stores, which need alignment. Returns how many elements come before.
  size_t choose_streaming() {
    size_t before = 0;
    bool any = false;
    for (size_t t = 0; t < pass_.target_number; ++t) {
      const ReduceTarget& target = pass_.targets[t];
      if (!target.streaming || (kWide && target.content == Content::partial)) continue;
      const size_t misaligned = reinterpret_cast<uintptr_t>(target.data) % kRawBytes;
      const size_t missing = misaligned == 0 ? 0 : kRawBytes - misaligned;
      if (missing % Format::kElementBytes != 0) continue;
      const size_t elements = missing / Format::kElementBytes;
      if (any && elements != before) continue;
      if (elements + kElements > pass_.count) continue;
      any = true;
      before = elements;
      streams_[t] = true;
    }
    return before;
  }

  template <size_t kUnits, size_t kUnrolled>
  HWY_INLINE void block(size_t first) {
    Unit units[kUnits];
    load_units<kUnits, false>(pass_.sources[0], first, units);
    combine_sources<1, kUnits, kUnrolled>(first, units);
    RawVec raw[kUnits];
    for (size_t u = 0; u < kUnits; ++u) raw[u] = Format::encode(units[u]);
    for (size_t t = 0; t < pass_.target_number; ++t) store_units(t, first, units, raw);
  }

  // Combines the sources from number kSource on.
  template <size_t kSource, size_t kUnits, size_t kUnrolled>
  HWY_INLINE void combine_sources(size_t first, Unit (&units)[kUnits]) const {
    if constexpr (kSource < kUnrolled) {
      if (kSource >= pass_.source_number) return;
      load_units<kUnits, true>(pass_.sources[kSource], first, units);
      combine_sources<kSource + 1, kUnits, kUnrolled>(first, units);
    } else {
      for (size_t s = kSource; s < pass_.source_number; ++s) load_units<kUnits, true>(pass_.sources[s], first, units);
    }
  }

  // Units of a source in place of, or combined with, what units holds.
  template <size_t kUnits, bool kCombine>
  HWY_INLINE void load_units(const ReduceSource& source, size_t first, Unit (&units)[kUnits]) const {
    const uint8_t* data = static_cast<const uint8_t*>(source.data);
    if constexpr (kWide) {
      if (source.content == Content::partial) {
        for (size_t u = 0; u < kUnits; ++u) put<kCombine>(units[u], load_wide(data, first + u * kElements));
        return;
      }
    }
    data += first * Format::kElementBytes;
    if (Op::kScales && source.content == Content::input) {
      for (size_t u = 0; u < kUnits; ++u) {
        Unit unit = Format::decode(load_raw(data + u * kRawBytes));
        scale(unit);
        put<kCombine>(units[u], unit);
      }
    } else {
      for (size_t u = 0; u < kUnits; ++u) put<kCombine>(units[u], Format::decode(load_raw(data + u * kRawBytes)));
    }
  }

  template <size_t kUnits>
  HWY_INLINE void store_units(size_t t, size_t first, const Unit (&units)[kUnits], const RawVec (&raw)[kUnits]) const {
    const ReduceTarget& target = pass_.targets[t];
    uint8_t* data = static_cast<uint8_t*>(target.data);
    if constexpr (kWide) {
      if (target.content == Content::partial) {
        for (size_t u = 0; u < kUnits; ++u) store_wide(units[u], data, first + u * kElements);
        return;
      }
    }
    data += first * Format::kElementBytes;
    RawVec results[kUnits];
    for (size_t u = 0; u < kUnits; ++u) results[u] = final_or(target, units[u], raw[u]);
    if (streams_[t]) {
      for (size_t u = 0; u < kUnits; ++u) hn::Stream(results[u], Raw(), lanes(data + u * kRawBytes));
    } else {
      for (size_t u = 0; u < kUnits; ++u) hn::StoreU(results[u], Raw(), lanes(data + u * kRawBytes));
    }
  }

  // Fewer elements than a unit. The same arithmetic on the same vectors, so that bits do not depend on the cut.
  HWY_NOINLINE void part(size_t first, size_t number) {
    Unit unit = load_part_of(pass_.sources[0], first, number);
    for (size_t s = 1; s < pass_.source_number; ++s) put<true>(unit, load_part_of(pass_.sources[s], first, number));
    const RawVec raw = Format::encode(unit);
    for (size_t t = 0; t < pass_.target_number; ++t) {
      const ReduceTarget& target = pass_.targets[t];
      uint8_t* data = static_cast<uint8_t*>(target.data);
      if constexpr (kWide) {
        if (target.content == Content::partial) {
          float buffer[kElements];
          Format::store_wide(unit, buffer);
          std::memcpy(data + first * sizeof(float), buffer, number * sizeof(float));
          continue;
        }
      }
      const RawVec result = final_or(target, unit, raw);
      store_part<Raw>(result, data + first * Format::kElementBytes, number * Format::kElementBytes);
    }
  }

  HWY_INLINE Unit load_part_of(const ReduceSource& source, size_t first, size_t number) const {
    const uint8_t* data = static_cast<const uint8_t*>(source.data);
    if constexpr (kWide) {
      if (source.content == Content::partial) {
        float buffer[kElements] = {};
        std::memcpy(buffer, data + first * sizeof(float), number * sizeof(float));
        return Format::load_wide(buffer);
      }
    }
    data += first * Format::kElementBytes;
    Unit unit = Format::decode(load_part<Raw>(data, number * Format::kElementBytes));
    if (Op::kScales && source.content == Content::input) scale(unit);
    return unit;
  }

  HWY_INLINE RawVec final_or(const ReduceTarget& target, const Unit& unit, RawVec raw) const {
    if constexpr (Op::kDivides) {
      if (target.content == Content::final) {
        Unit quotient;
        for (size_t i = 0; i < Unit::kVectors; ++i) quotient.v[i] = op_.divide(unit.v[i]);
        return Format::encode(quotient);
      }
    }
    return raw;
  }

  template <bool kCombine>
  HWY_INLINE void put(Unit& unit, const Unit& next) const {
    if constexpr (kCombine) {
      for (size_t i = 0; i < Unit::kVectors; ++i) unit.v[i] = op_.combine(unit.v[i], next.v[i]);
    } else {
      unit = next;
    }
  }

  HWY_INLINE void scale(Unit& unit) const {
    if constexpr (Op::kScales) {
      for (size_t i = 0; i < Unit::kVectors; ++i) unit.v[i] = op_.scale(unit.v[i]);
      if constexpr (Format::kNarrow) {
        if (pass_.reduction->rounds_products) unit = Format::decode(Format::encode(unit));
      }
    }
  }

  static HWY_INLINE RawLane* lanes(uint8_t* data) { return reinterpret_cast<RawLane*>(data); }
  static HWY_INLINE RawVec load_raw(const uint8_t* data) {
    return hn::LoadU(Raw(), reinterpret_cast<const RawLane*>(data));
  }
  static HWY_INLINE Unit load_wide(const uint8_t* data, size_t first) {
    return Format::load_wide(reinterpret_cast<const float*>(data + first * sizeof(float)));
  }
  static HWY_INLINE void store_wide(const Unit& unit, uint8_t* data, size_t first) {
    Format::store_wide(unit, reinterpret_cast<float*>(data + first * sizeof(float)));
  }

  const ReducePass pass_;
  const Op op_;
  bool streams_[2] = {false, false};
};

template <class Format, class Op>
HWY_NOINLINE void run(const ReducePass& pass, const Op& op) {
  if constexpr (Format::kNarrow) {
    if (pass.reduction->partial != pass.reduction->type) return Kernel<Format, Op, true>(pass, op).run();
  }
  Kernel<Format, Op, false>(pass, op).run();
}

template <class Format>
HWY_INLINE void run_float(const ReducePass& pass) {
  if (pass.reduction->multiplies) return run<Format>(pass, ScaledSum<typename Format::Lanes>(pass.reduction->factor));
  switch (pass.reduction->op) {
    case rondeProd: return run<Format>(pass, Product());
    case rondeMax: return run<Format>(pass, Extreme<false>());
    case rondeMin: return run<Format>(pass, Extreme<true>());
    default: return run<Format>(pass, Sum());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ronde
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled
