// What kernels have from the host besides arguments: fault reports, printf
// and a heap. docs/launch-abi.md says what lies where.
#ifndef CERBERUS_DEVLIB_SERVICES_H_
#define CERBERUS_DEVLIB_SERVICES_H_

#include "device.h"
#include "formats/launch_abi.h"

using namespace cerberus::formats;

INLINE GLOBAL const ContextBlock* BlockAt(u64 context) {
  return reinterpret_cast<GLOBAL const ContextBlock*>(context);
}
// Null without a context, as without a ring.
INLINE GLOBAL PrintfRing* RingOf(u64 context) {
  return context == 0 ? nullptr
                      : reinterpret_cast<GLOBAL PrintfRing*>(
                            BlockAt(context)->printf_ring);
}
INLINE GLOBAL u64* WordsOf(GLOBAL PrintfRing* ring) {
  return reinterpret_cast<GLOBAL u64*>(ring + 1);
}
INLINE GLOBAL HeapHeader* HeapOf(u64 context) {
  return reinterpret_cast<GLOBAL HeapHeader*>(BlockAt(context)->heap);
}

// ---- Faults -----------------------------------------------------------------

// The host may look at any time: until all is written, the kind has
// kErrorBeingWritten.

// The first fault wins; null for the others.
INLINE GLOBAL ErrorRecord* ClaimRecord(u64 context, u32 kind) {
  if (context == 0) return nullptr;
  GLOBAL ErrorRecord* record =
      reinterpret_cast<GLOBAL ErrorRecord*>(BlockAt(context)->error_record);
  if (record == nullptr) return nullptr;
  u32 none = 0;
  if (!__scoped_atomic_compare_exchange_n(
          &record->kind, &none, kind | kErrorBeingWritten, false,
          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM)) {
    return nullptr;
  }
  record->block[0] = __builtin_amdgcn_workgroup_id_x();
  record->block[1] = __builtin_amdgcn_workgroup_id_y();
  record->block[2] = __builtin_amdgcn_workgroup_id_z();
  record->thread[0] = __cerberus_wave_thread_x();
  record->thread[1] = __cerberus_wave_thread_y();
  record->thread[2] = __cerberus_wave_thread_z();
  return record;
}
INLINE void PublishRecord(GLOBAL ErrorRecord* record, u32 kind) {
  __scoped_atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE,
                          __MEMORY_SCOPE_SYSTEM);
}

// The wave ends here: passes/growth/ended_waves.h.
DEV(void, report_fault)(u64 context, u32 kind, u32 line, GLOBAL char* name) {
  if (GLOBAL ErrorRecord* record = ClaimRecord(context, kind)) {
    record->line = line;
    record->kernel_name = reinterpret_cast<u64>(name);
    PublishRecord(record, kind);
  }
  __builtin_amdgcn_endpgm();
}

// ---- printf -----------------------------------------------------------------

// ASCII characters, as bits.
struct CharSet {
  u64 low = 0;
  u64 high = 0;

  consteval CharSet(const char* characters) {
    for (; *characters != 0; ++characters) {
      (*characters < 64 ? low : high) |= u64{1} << (*characters & 63);
    }
  }
  INLINE_MEMBER bool Has(char c) const {
    const u64 half = c < 0 ? 0 : c < 64 ? low : high;
    return half >> (c & 63) & 1;
  }
};
INLINE bool IsOneOf(char c, CharSet set) { return set.Has(c); }

// The arguments as the caller packed them: each at the next multiple of its
// size.
struct PackedArguments {
  const char* at;

  template <typename T>
  INLINE_MEMBER T Next() {
    const u64 aligned =
        (reinterpret_cast<u64>(at) + sizeof(T) - 1) & -u64{sizeof(T)};
    at = reinterpret_cast<const char*>(aligned + sizeof(T));
    return *reinterpret_cast<const T*>(aligned);
  }
};

// Calls value(bits) for each int or 8-byte argument, and text(address, most)
// for each string, of which at most that many bytes are wanted. Returns the
// length of the format.
template <typename Value, typename Text>
INLINE u32 WalkFormat(const char* format, PackedArguments arguments,
                      Value value, Text text) {
  const char* at = format;
  while (*at != 0) {
    if (*at++ != '%') continue;
    while (IsOneOf(*at, "-+ #0")) ++at;
    u64 precision = ~u64{0};
    for (bool behind_point = false;; ++at) {
      const char c = *at;
      if (c == '*') {
        const s32 given = arguments.Next<s32>();
        value(static_cast<u32>(given));
        if (behind_point && given >= 0) precision = static_cast<u32>(given);
      } else if (c == '.' && !behind_point) {
        behind_point = true;
        // A point alone is a precision of 0; a negative one is none.
        if (at[1] != '*') precision = 0;
      } else if (c >= '0' && c <= '9') {
        if (behind_point) precision = precision * 10 + (c - '0');
      } else {
        break;
      }
    }
    bool wide = false;
    for (; IsOneOf(*at, "hlqjztL"); ++at) wide |= *at != 'h';
    const char conversion = *at;
    if (conversion == 0) break;
    ++at;
    // One call of each, since every one becomes code of its own.
    if (conversion == 's') {
      text(arguments.Next<const char*>(), precision);
      continue;
    }
    const bool integer = IsOneOf(conversion, "diouxX");
    if (IsOneOf(conversion, "fFeEgGaAp") || (integer && wide)) {
      value(arguments.Next<u64>());
    } else if (integer || conversion == 'c') {
      value(arguments.Next<u32>());
    }
  }
  return static_cast<u32>(at - format);
}

INLINE u64 LengthOf(const char* text, u64 most) {
  u64 length = 0;
  while (length < most && text[length] != 0) ++length;
  return length;
}

INLINE u64 WordsFor(u64 bytes) { return (bytes + 7) / 8; }

// Words behind each other in the ring, from a reserved place; without one it
// only counts them.
struct RingWriter {
  GLOBAL PrintfRing* ring;
  u64 words;  // of the ring
  u64 next = 0;
  u64 left = 0;  // reserved
  u64 needed = 0;

  INLINE_MEMBER void Put(u64 word) {
    ++needed;
    // A text that grew since it was measured must not leave the record.
    if (left == 0) return;
    --left;
    WordsOf(ring)[next] = word;
    if (++next == words) next = 0;
  }
  INLINE_MEMBER void PutText(const char* text, u64 length) {
    for (u64 i = 0; i < length; i += 8) {
      u64 word = 0;
#pragma clang loop unroll(disable)
      for (u64 k = 0; k < 8 && i + k < length; ++k) {
        word |= static_cast<u64>(static_cast<u8>(text[i + k])) << 8 * k;
      }
      Put(word);
    }
  }
};

// Reserves words in the ring; false, and counted in `dropped`, if it is full.
// Room that the host makes meanwhile is for the next: a loop that looked for it
// would be one in which lanes wait (passes/lanes/waiting.h), and a kernel with
// ten assertions in place ten regions of rounds, one in the other.
INLINE bool Reserve(GLOBAL PrintfRing* ring, u64 capacity, u64 words,
                    GLOBAL u64* dropped, u64* first) {
  const u64 read = __scoped_atomic_load_n(&ring->read, __ATOMIC_ACQUIRE,
                                          __MEMORY_SCOPE_SYSTEM);
  u64 written = __scoped_atomic_load_n(&ring->written, __ATOMIC_RELAXED,
                                       __MEMORY_SCOPE_SYSTEM);
  for (;;) {
    if (written + words - read > capacity) {
      __scoped_atomic_fetch_add(dropped, 1, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_SYSTEM);
      return false;
    }
    if (__scoped_atomic_compare_exchange_n(
            &ring->written, &written, written + words, false, __ATOMIC_ACQUIRE,
            __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM)) {
      *first = written;
      return true;
    }
  }
}

// vprintf: answers the number of arguments, or -1 without a format. Texts go
// into the record: those in a thread's own memory are gone when the host
// looks.
DEV(s32, vprintf)(u64 context, const char* format, const char* packed) {
  if (format == nullptr) return -1;
  GLOBAL PrintfRing* ring = RingOf(context);
  const u64 capacity = context == 0 ? 0 : BlockAt(context)->printf_bytes / 8;
  RingWriter to = {ring, capacity};
  s32 count = 0;
  u32 format_bytes = 0;
  u64 words = 0;
  u64 place = 0;  // of the record's first word
  // Once to measure and once to write, with the same code.
#pragma clang loop unroll(disable)
  for (bool reserved = false;; reserved = true) {
    count = 0;
    to.PutText(format, format_bytes);
    format_bytes = WalkFormat(
        format, PackedArguments{packed},
        [&](u64 bits) {
          ++count;
          to.Put(bits);
        },
        [&](const char* text, u64 most) {
          ++count;
          const u64 length = text != nullptr ? LengthOf(text, most) : ~u64{0};
          to.Put(length);
          if (text != nullptr) to.PutText(text, length);
        });
    if (reserved) break;
    if (ring == nullptr) return count;
    words = 1 + WordsFor(format_bytes) + to.needed;
    u64 first = 0;
    if (!Reserve(ring, capacity, words, &ring->dropped, &first)) return count;
    place = first % capacity;
    to.next = place + 1 == capacity ? 0 : place + 1;
    to.left = words - 1;
  }
  // The host reads a record once its first word is there.
  __scoped_atomic_store_n(&WordsOf(ring)[place],
                          u64{format_bytes} << 32 | words * 8, __ATOMIC_RELEASE,
                          __MEMORY_SCOPE_SYSTEM);
  return count;
}

// ---- assert -----------------------------------------------------------------

// The line of the calling thread: a record without a format, marked in its
// size. The texts are the module's constants.
INLINE void WriteAssertion(u64 context, const char* message, const char* file,
                           u32 line, const char* function) {
  GLOBAL PrintfRing* ring = RingOf(context);
  if (ring == nullptr) return;
  const u64 capacity = BlockAt(context)->printf_bytes / 8;
  const auto text_of = [&](u32 i) {
    return i == 0 ? file : i == 1 ? function : message;
  };
  // The record's size, the line, and where.
  u64 words = 1 + 1 + 6;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < 3; ++i) {
    const char* text = text_of(i);
    words += 1 + (text != nullptr ? WordsFor(LengthOf(text, ~u64{0})) : 0);
  }
  u64 first = 0;
  if (!Reserve(ring, capacity, words, &ring->dropped_assertions, &first)) {
    return;
  }
  const u64 place = first % capacity;
  RingWriter to = {ring, capacity, place + 1 == capacity ? 0 : place + 1,
                   words - 1};
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < 3; ++i) {
    const char* text = text_of(i);
    const u64 length = text != nullptr ? LengthOf(text, ~u64{0}) : ~u64{0};
    to.Put(length);
    if (text != nullptr) to.PutText(text, length);
    if (i == 0) to.Put(line);
    if (i != 1) continue;
    to.Put(__builtin_amdgcn_workgroup_id_x());
    to.Put(__builtin_amdgcn_workgroup_id_y());
    to.Put(__builtin_amdgcn_workgroup_id_z());
    to.Put(__cerberus_wave_thread_x());
    to.Put(__cerberus_wave_thread_y());
    to.Put(__cerberus_wave_thread_z());
  }
  __scoped_atomic_store_n(&WordsOf(ring)[place], kAssertionRecord | words * 8,
                          __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
}

// __assertfail. Each thread that fails writes its line; the first one's is in
// the record as well, should the ring be full. The line comes first, so that
// it is there when the host sees the record. Then the wave ends, as above.
DEV(void, report_assert)(u64 context, u64 message, u64 file, u32 line,
                         u64 function, GLOBAL char* name) {
  WriteAssertion(context, reinterpret_cast<const char*>(message),
                 reinterpret_cast<const char*>(file), line,
                 reinterpret_cast<const char*>(function));
  if (GLOBAL ErrorRecord* record = ClaimRecord(context, kErrorAssert)) {
    record->line = line;
    record->kernel_name = reinterpret_cast<u64>(name);
    record->message = message;
    record->file = file;
    record->function = function;
    PublishRecord(record, kErrorAssert);
  }
  __builtin_amdgcn_endpgm();
}

// ---- malloc -----------------------------------------------------------------
//
// Blocks are taken from the unused end of the heap and go back to a free list
// of their size class: four classes to each power of two, so that at most a
// fifth of a block is lost. The lists need no lock. Only who finds nothing
// there takes one, to split a larger block or to merge the free ones.

constexpr u64 kUnit = 16;  // of sizes and alignment; a block's header
enum BlockState : u32 {
  kInUse = 0x75736564,
  kFree = 0x66726565,
  kShifted = 0x73686674,  // stands for the block that begins `units` before
  kOwned = 0x6f776e64,    // off its list, to be merged
  kMerged = 0x6d726764,   // part of the block in front of it
};
struct BlockHeader {
  u32 units;
  u32 state;
  u64 next;  // on a free list: units from the heap's start
};
static_assert(sizeof(BlockHeader) == kUnit);

// The largest class whose blocks are no larger than `units`, at least 1.
INLINE u32 ClassBelow(u32 units) {
  if (units < 8) return units;
  const u32 log = 31 - __builtin_clz(units);
  return 8 + (log - 3) * 4 + (units >> (log - 2) & 3);
}
INLINE u32 UnitsOf(u32 size_class) {
  if (size_class < 8) return size_class;
  const u32 log = (size_class - 8) / 4 + 3;
  return (4 + (size_class & 3)) << (log - 2);
}
// The smallest class whose blocks are at least that large.
INLINE u32 ClassAbove(u32 units) {
  const u32 below = ClassBelow(units);
  return UnitsOf(below) == units ? below : below + 1;
}

INLINE GLOBAL BlockHeader* BlockOf(GLOBAL HeapHeader* heap, u64 unit) {
  return reinterpret_cast<GLOBAL BlockHeader*>(
      reinterpret_cast<GLOBAL char*>(heap) + unit * kUnit);
}

// A list's head: the first block, and how often the list was changed. The
// count makes a compare fail when the same block has come back meanwhile.
INLINE u64 HeadOf(u64 before, u64 unit) {
  return ((before >> 32) + 1) << 32 | unit;
}

INLINE void PushBlock(GLOBAL HeapHeader* heap, GLOBAL BlockHeader* block,
                      u32 units) {
  const u64 unit =
      (reinterpret_cast<u64>(block) - reinterpret_cast<u64>(heap)) / kUnit;
  block->units = units;
  block->state = kFree;
  GLOBAL u64* list = &heap->free[ClassBelow(units)];
  u64 head =
      __scoped_atomic_load_n(list, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  do {
    __scoped_atomic_store_n(&block->next,
                            static_cast<u64>(static_cast<u32>(head)),
                            __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  } while (!__scoped_atomic_compare_exchange_n(
      list, &head, HeadOf(head, unit), false, __ATOMIC_RELEASE,
      __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
}

INLINE GLOBAL BlockHeader* PopBlock(GLOBAL HeapHeader* heap, u32 size_class) {
  GLOBAL u64* list = &heap->free[size_class];
  u64 head =
      __scoped_atomic_load_n(list, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
  while (static_cast<u32>(head) != 0) {
    GLOBAL BlockHeader* block = BlockOf(heap, static_cast<u32>(head));
    const u64 next = __scoped_atomic_load_n(&block->next, __ATOMIC_RELAXED,
                                            __MEMORY_SCOPE_DEVICE);
    if (__scoped_atomic_compare_exchange_n(
            list, &head, HeadOf(head, static_cast<u32>(next)), false,
            __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE)) {
      return block;
    }
  }
  return nullptr;
}

INLINE GLOBAL BlockHeader* TakeUnused(GLOBAL HeapHeader* heap, u64 heap_bytes,
                                      u32 units) {
  const u64 bytes = units * kUnit;
  const u64 most = heap_bytes - sizeof(HeapHeader);
  u64 used = __scoped_atomic_load_n(&heap->used, __ATOMIC_RELAXED,
                                    __MEMORY_SCOPE_DEVICE);
  do {
    if (used > most || bytes > most - used) return nullptr;
  } while (!__scoped_atomic_compare_exchange_n(
      &heap->used, &used, used + bytes, false, __ATOMIC_RELAXED,
      __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
  GLOBAL BlockHeader* block =
      BlockOf(heap, (sizeof(HeapHeader) + used) / kUnit);
  block->units = units;
  return block;
}

INLINE void CountFreed(GLOBAL HeapHeader* heap) {
  __scoped_atomic_fetch_add(&heap->freed, 1, __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_DEVICE);
}

// Gives back what `block` has beyond `units`, in the largest pieces that are
// whole classes.
INLINE void Split(GLOBAL HeapHeader* heap, GLOBAL BlockHeader* block,
                  u32 units) {
  u32 rest = block->units - units;
  // A piece holds a header and a unit of memory.
  if (rest < 2) return;
  block->units = units;
  GLOBAL BlockHeader* piece = block + units;
  while (rest >= 2) {
    const u32 part = rest < 8 ? rest : UnitsOf(ClassBelow(rest));
    // A last single unit stays with the piece in front of it.
    const u32 whole = rest - part == 1 ? rest : part;
    PushBlock(heap, piece, whole);
    piece += whole;
    rest -= whole;
  }
  CountFreed(heap);
}

INLINE u32 StateOf(GLOBAL BlockHeader* block) {
  return __scoped_atomic_load_n(&block->state, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_DEVICE);
}
INLINE void SetState(GLOBAL BlockHeader* block, u32 state) {
  __scoped_atomic_store_n(&block->state, state, __ATOMIC_RELAXED,
                          __MEMORY_SCOPE_DEVICE);
}

// Takes all blocks off the lists, makes one of those that touch, and puts
// them back. Only with the lock held; others allocate and free meanwhile.
INLINE void MergeBlocks(GLOBAL HeapHeader* heap) {
  u64 all = 0;
  for (u32 i = 0; i < kHeapClasses; ++i) {
    u64 head = __scoped_atomic_load_n(&heap->free[i], __ATOMIC_RELAXED,
                                      __MEMORY_SCOPE_DEVICE);
    while (static_cast<u32>(head) != 0 &&
           !__scoped_atomic_compare_exchange_n(
               &heap->free[i], &head, HeadOf(head, 0), false, __ATOMIC_ACQUIRE,
               __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)) {
    }
    for (u64 unit = static_cast<u32>(head); unit != 0;) {
      GLOBAL BlockHeader* block = BlockOf(heap, unit);
      const u64 next = block->next;
      SetState(block, kOwned);
      block->next = all;
      all = unit;
      unit = next;
    }
  }
  // Blocks lie side by side up to here. One that was taken this moment may
  // have no header yet, but nothing leaves kOwned behind.
  const u64 end = (sizeof(HeapHeader) +
                   __scoped_atomic_load_n(&heap->used, __ATOMIC_RELAXED,
                                          __MEMORY_SCOPE_DEVICE)) /
                  kUnit;
  for (u64 unit = all; unit != 0; unit = BlockOf(heap, unit)->next) {
    GLOBAL BlockHeader* block = BlockOf(heap, unit);
    if (StateOf(block) != kOwned) continue;
    while (unit + block->units < end &&
           StateOf(block + block->units) == kOwned) {
      GLOBAL BlockHeader* behind = block + block->units;
      SetState(behind, kMerged);
      block->units += behind->units;
    }
  }
  // What is put back may be written by others at once, so the blocks that
  // are left are first chained up.
  u64 left = 0;
  for (u64 unit = all; unit != 0;) {
    GLOBAL BlockHeader* block = BlockOf(heap, unit);
    const u64 next = block->next;
    if (StateOf(block) == kOwned) {
      block->next = left;
      left = unit;
    }
    unit = next;
  }
  for (u64 unit = left; unit != 0;) {
    GLOBAL BlockHeader* block = BlockOf(heap, unit);
    unit = block->next;
    const u64 at = reinterpret_cast<u64>(block) - reinterpret_cast<u64>(heap) -
                   sizeof(HeapHeader);
    u64 used = at + block->units * kUnit;
    SetState(block, 0);
    // The last block becomes unused memory again.
    if (!__scoped_atomic_compare_exchange_n(&heap->used, &used, at, false,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED,
                                            __MEMORY_SCOPE_DEVICE)) {
      PushBlock(heap, block, block->units);
    }
  }
}

INLINE GLOBAL BlockHeader* TakeLarger(GLOBAL HeapHeader* heap, u32 size_class) {
  for (u32 i = size_class; i < kHeapClasses; ++i) {
    GLOBAL BlockHeader* block = PopBlock(heap, i);
    if (block == nullptr) continue;
    Split(heap, block, UnitsOf(size_class));
    return block;
  }
  return nullptr;
}

// The critical section lies inside the loop: lanes of a wave run in lockstep,
// and take turns this way.
INLINE GLOBAL BlockHeader* TakeLocked(GLOBAL HeapHeader* heap, u64 heap_bytes,
                                      u32 units, u32 size_class) {
  GLOBAL BlockHeader* block = nullptr;
  bool done = false;
  while (!done) {
    u32 unlocked = 0;
    if (__scoped_atomic_compare_exchange_n(&heap->lock, &unlocked, 1, false,
                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED,
                                           __MEMORY_SCOPE_DEVICE)) {
      block = TakeLarger(heap, size_class);
      const u64 freed = __scoped_atomic_load_n(&heap->freed, __ATOMIC_RELAXED,
                                               __MEMORY_SCOPE_DEVICE);
      if (block == nullptr && freed != heap->merged) {
        heap->merged = freed;
        MergeBlocks(heap);
        block = TakeLarger(heap, size_class);
        if (block == nullptr) {
          block = TakeUnused(heap, heap_bytes, UnitsOf(size_class));
        }
      }
      // Near the end of the heap the exact size may still fit.
      if (block == nullptr) block = TakeUnused(heap, heap_bytes, units);
      __scoped_atomic_store_n(&heap->lock, 0, __ATOMIC_RELEASE,
                              __MEMORY_SCOPE_DEVICE);
      done = true;
    }
  }
  return block;
}

INLINE GLOBAL BlockHeader* Allocate(u64 context, u64 size) {
  if (context == 0) return nullptr;
  GLOBAL HeapHeader* heap = HeapOf(context);
  const u64 heap_bytes = BlockAt(context)->heap_bytes;
  if (heap == nullptr || size >= heap_bytes) return nullptr;
  u64 wanted = 1 + (size + kUnit - 1) / kUnit;
  if (wanted < 2) wanted = 2;
  if (wanted > 0x40000000) return nullptr;
  const u32 units = static_cast<u32>(wanted);
  const u32 size_class = ClassAbove(units);
  GLOBAL BlockHeader* block = PopBlock(heap, size_class);
  if (block == nullptr) {
    block = TakeUnused(heap, heap_bytes, UnitsOf(size_class));
  }
  if (block == nullptr) {
    block = TakeLocked(heap, heap_bytes, units, size_class);
  }
  if (block != nullptr) SetState(block, kInUse);
  return block;
}

DEV(u64, malloc)(u64 context, u64 size) {
  GLOBAL BlockHeader* block = Allocate(context, size);
  return block == nullptr ? 0 : reinterpret_cast<u64>(block + 1);
}

// operator new of types with a large alignment.
DEV(u64, aligned_malloc)(u64 context, u64 size, u64 align) {
  if (align <= kUnit) align = kUnit;
  if (size + align < size) return 0;
  GLOBAL BlockHeader* block = Allocate(context, size + align);
  if (block == nullptr) return 0;
  const u64 start = reinterpret_cast<u64>(block + 1);
  const u64 aligned = (start + align - 1) & -align;
  if (aligned != start) {
    GLOBAL BlockHeader* shifted =
        reinterpret_cast<GLOBAL BlockHeader*>(aligned) - 1;
    shifted->units = static_cast<u32>((aligned - start) / kUnit);
    shifted->state = kShifted;
  }
  return aligned;
}

DEV(void, free)(u64 context, u64 address) {
  if (context == 0 || address == 0) return;
  GLOBAL HeapHeader* heap = HeapOf(context);
  const u64 from = reinterpret_cast<u64>(heap) + sizeof(HeapHeader) + kUnit;
  // Memory from elsewhere cannot be freed here.
  if (heap == nullptr || address < from || address % kUnit != 0 ||
      address - reinterpret_cast<u64>(heap) >= BlockAt(context)->heap_bytes) {
    return;
  }
  GLOBAL BlockHeader* block =
      reinterpret_cast<GLOBAL BlockHeader*>(address) - 1;
  if (block->state == kShifted) block -= block->units;
  // A second free of the same block finds it free.
  u32 in_use = kInUse;
  if (!__scoped_atomic_compare_exchange_n(
          &block->state, &in_use, static_cast<u32>(kFree), false,
          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)) {
    return;
  }
  PushBlock(heap, block, block->units);
  CountFreed(heap);
}

#endif  // CERBERUS_DEVLIB_SERVICES_H_
