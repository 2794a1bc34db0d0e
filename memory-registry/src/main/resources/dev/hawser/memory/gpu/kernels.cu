// Copyright The Hawser authors
// SPDX-License-Identifier: Apache-2.0

// All kernels of Hawser, for CUDA (compiled ahead, to kernels.ptx by perf/labs/gpu/ptx.sh) and for HIP (compiled by
// hiprtc on the machine). No header is included, so that both compilers take it as it is. Each kernel has one argument, a
// struct whose layout dev.hawser.memory.gpu.KernelArguments knows.
//
// Semantics are those of dev.hawser.memory.HostDeviceOps, bit for bit, but for the payloads of NaNs.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct alignas(16) Vector {
  u32 x, y, z, w;
};

// ---------------------------------------------------------------------------------------------------------------- copy

// Copies whole words of one width. Each lane loads up to eight before it stores the first: the memory's latency is paid
// once for all of them.
template <typename Word>
__device__ __forceinline__ void copyWords(const u8* from, u8* to, u32 words, u32 lane, u32 lanes) {
  const Word* source = reinterpret_cast<const Word*>(from);
  Word* target = reinterpret_cast<Word*>(to);
  u32 i = lane;
  for (; i + 7 * lanes < words; i += 8 * lanes) {
    Word held[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
      held[k] = source[i + k * lanes];
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
      target[i + k * lanes] = held[k];
    }
  }
  for (; i < words; i += lanes) {
    target[i] = source[i];
  }
}

// Copies bytes by the lanes of one group. The widest word that both addresses can be aligned to together is used between
// a head and a tail of single bytes.
__device__ __forceinline__ void copyBytes(const u8* from, u8* to, u32 bytes, u32 lane, u32 lanes) {
  u64 difference = reinterpret_cast<u64>(from) ^ reinterpret_cast<u64>(to);
  u32 width = (difference & 15) == 0 ? 16 : (difference & 7) == 0 ? 8 : (difference & 3) == 0 ? 4 : (difference & 1) == 0 ? 2 : 1;
  u32 head = (u32) (-reinterpret_cast<u64>(to)) & (width - 1);
  if (head > bytes) {
    head = bytes;
  }
  for (u32 i = lane; i < head; i += lanes) {
    to[i] = from[i];
  }
  u32 body = (bytes - head) & ~(width - 1);
  const u8* source = from + head;
  u8* target = to + head;
  switch (width) {
    case 16: copyWords<Vector>(source, target, body / 16, lane, lanes); break;
    case 8: copyWords<u64>(source, target, body / 8, lane, lanes); break;
    case 4: copyWords<u32>(source, target, body / 4, lane, lanes); break;
    case 2: copyWords<u16>(source, target, body / 2, lane, lanes); break;
    default: copyWords<u8>(source, target, body, lane, lanes); break;
  }
  for (u32 i = head + body + lane; i < bytes; i += lanes) {
    to[i] = from[i];
  }
}

// Pieces of one length at two bases plus offsets: for each piece two signed 32-bit numbers of units, first of the local
// side, then of the remote one. An item is at most itemBytes of one piece, copied by 1 << laneBits lanes.
struct IndexedCopy {
  u64 table;
  u64 localBase;
  u64 remoteBase;
  u64 items;
  u32 pieceBytes;
  u32 itemBytes;
  u32 itemsPerPiece;
  u32 unitBits;
  u32 laneBits;
  u32 toRemote;
};

extern "C" __global__ void __launch_bounds__(256) hawser_copy_indexed(IndexedCopy c) {
  u32 lanes = 1u << c.laneBits;
  u64 thread = (u64) blockIdx.x * blockDim.x + threadIdx.x;
  u64 step = ((u64) gridDim.x * blockDim.x) >> c.laneBits;
  u32 lane = (u32) thread & (lanes - 1);
  const int* table = reinterpret_cast<const int*>(c.table);
  for (u64 item = thread >> c.laneBits; item < c.items; item += step) {
    u64 piece = item;
    u32 offset = 0;
    if (c.itemsPerPiece > 1) {
      piece = (u32) item / c.itemsPerPiece;
      offset = ((u32) item - (u32) piece * c.itemsPerPiece) * c.itemBytes;
    }
    u8* local = reinterpret_cast<u8*>(c.localBase + (u64) ((i64) table[2 * piece] << c.unitBits) + offset);
    u8* remote = reinterpret_cast<u8*>(c.remoteBase + (u64) ((i64) table[2 * piece + 1] << c.unitBits) + offset);
    u32 left = c.pieceBytes - offset;
    u32 bytes = left < c.itemBytes ? left : c.itemBytes;
    copyBytes(c.toRemote ? local : remote, c.toRemote ? remote : local, bytes, lane, lanes);
  }
}

// Runs of pieces of one length at even distances. firstItem grows; the run of an item is found by halving.
struct Run {
  u64 local;
  u64 remote;
  i64 localStride;
  i64 remoteStride;
  u64 pieceBytes;
  u64 firstItem;
};

struct RunsCopy {
  u64 table;
  i64 localShift;
  i64 remoteShift;
  u64 items;
  u32 runs;
  u32 itemBytes;
  u32 laneBits;
  u32 toRemote;
};

extern "C" __global__ void __launch_bounds__(256) hawser_copy_runs(RunsCopy c) {
  u32 lanes = 1u << c.laneBits;
  u64 thread = (u64) blockIdx.x * blockDim.x + threadIdx.x;
  u64 step = ((u64) gridDim.x * blockDim.x) >> c.laneBits;
  u32 lane = (u32) thread & (lanes - 1);
  const Run* table = reinterpret_cast<const Run*>(c.table);
  for (u64 item = thread >> c.laneBits; item < c.items; item += step) {
    u32 low = 0;
    u32 high = c.runs - 1;
    while (low < high) {
      u32 middle = (low + high + 1) >> 1;
      if (table[middle].firstItem <= item) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    Run run = table[low];
    u64 rest = item - run.firstItem;
    u64 itemsPerPiece = (run.pieceBytes + c.itemBytes - 1) / c.itemBytes;
    u64 piece = rest;
    u64 offset = 0;
    if (itemsPerPiece > 1) {
      piece = rest / itemsPerPiece;
      offset = (rest - piece * itemsPerPiece) * c.itemBytes;
    }
    u8* local = reinterpret_cast<u8*>(run.local + c.localShift + piece * run.localStride + offset);
    u8* remote = reinterpret_cast<u8*>(run.remote + c.remoteShift + piece * run.remoteStride + offset);
    u64 left = run.pieceBytes - offset;
    u32 bytes = left < c.itemBytes ? (u32) left : c.itemBytes;
    copyBytes(c.toRemote ? local : remote, c.toRemote ? remote : local, bytes, lane, lanes);
  }
}

// ------------------------------------------------------------------------------------------------------------- permute

// Axes of the result, last fastest, with the distance in bytes of each in the source. One thread per unit.
struct Permute {
  u64 from;
  u64 to;
  u64 units;
  u32 unitBytes;
  u32 axes;
  u64 shape[8];
  i64 stride[8];
};

extern "C" __global__ void __launch_bounds__(256) hawser_permute(Permute p) {
  u64 step = (u64) gridDim.x * blockDim.x;
  for (u64 unit = (u64) blockIdx.x * blockDim.x + threadIdx.x; unit < p.units; unit += step) {
    u64 from = p.from;
    if (p.units <= 0xffffffffu) {
      u32 rest = (u32) unit;
      for (int axis = (int) p.axes - 1; axis > 0; axis--) {
        u32 extent = (u32) p.shape[axis];
        u32 next = rest / extent;
        from += (i64) (rest - next * extent) * p.stride[axis];
        rest = next;
      }
      from += (i64) rest * p.stride[0];
    } else {
      u64 rest = unit;
      for (int axis = (int) p.axes - 1; axis > 0; axis--) {
        u64 next = rest / p.shape[axis];
        from += (i64) (rest - next * p.shape[axis]) * p.stride[axis];
        rest = next;
      }
      from += (i64) rest * p.stride[0];
    }
    u64 to = p.to + unit * p.unitBytes;
    switch (p.unitBytes) {
      case 16: *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from); break;
      case 8: *reinterpret_cast<u64*>(to) = *reinterpret_cast<const u64*>(from); break;
      case 4: *reinterpret_cast<u32*>(to) = *reinterpret_cast<const u32*>(from); break;
      case 2: *reinterpret_cast<u16*>(to) = *reinterpret_cast<const u16*>(from); break;
      default: *reinterpret_cast<u8*>(to) = *reinterpret_cast<const u8*>(from); break;
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- conversion

__device__ __forceinline__ u32 bitsOf(float value) {
  return __float_as_uint(value);
}

__device__ __forceinline__ float ofBits(u32 bits) {
  return __uint_as_float(bits);
}

// A bfloat16 is the upper half of a float.
__device__ __forceinline__ float fromBfloat16(u16 bits) {
  return ofBits((u32) bits << 16);
}

// Rounds to nearest, ties to even. A NaN stays one, and becomes quiet.
__device__ __forceinline__ u16 toBfloat16(float value) {
  u32 bits = bitsOf(value);
  if (value != value) {
    return (u16) ((bits >> 16) | 0x40);
  }
  return (u16) ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

__device__ __forceinline__ float fromBinary16(u16 bits) {
#ifdef __HIP__
  return (float) __builtin_bit_cast(_Float16, bits);
#else
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#endif
}

__device__ __forceinline__ u16 toBinary16(float value) {
  if (value != value) {
    return (u16) (((bitsOf(value) >> 16) & 0x8000) | 0x7e00 | ((bitsOf(value) >> 13) & 0x1ff));
  }
#ifdef __HIP__
  return __builtin_bit_cast(u16, (_Float16) value);
#else
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#endif
}

// The numbers of dev.hawser.memory.ElementType, in its order.
enum ElementType { F32, F64, BF16, F16, I32, I64 };

struct F32Codec {
  typedef u32 Stored;
  typedef float Value;
  static __device__ __forceinline__ float load(u32 bits) { return ofBits(bits); }
  static __device__ __forceinline__ u32 store(float value) { return bitsOf(value); }
};

struct BF16Codec {
  typedef u16 Stored;
  typedef float Value;
  static __device__ __forceinline__ float load(u16 bits) { return fromBfloat16(bits); }
  static __device__ __forceinline__ u16 store(float value) { return toBfloat16(value); }
};

struct F16Codec {
  typedef u16 Stored;
  typedef float Value;
  static __device__ __forceinline__ float load(u16 bits) { return fromBinary16(bits); }
  static __device__ __forceinline__ u16 store(float value) { return toBinary16(value); }
};

struct F64Codec {
  typedef double Stored;
  typedef double Value;
  static __device__ __forceinline__ double load(double value) { return value; }
  static __device__ __forceinline__ double store(double value) { return value; }
};

// 32 bits are widened, so that an average does not wrap; cutting the sum is the same as wrapping.
struct I32Codec {
  typedef int Stored;
  typedef i64 Value;
  static __device__ __forceinline__ i64 load(int value) { return value; }
  static __device__ __forceinline__ int store(i64 value) { return (int) value; }
};

struct I64Codec {
  typedef i64 Stored;
  typedef i64 Value;
  static __device__ __forceinline__ i64 load(i64 value) { return value; }
  static __device__ __forceinline__ i64 store(i64 value) { return value; }
};

struct Cast {
  u64 from;
  u64 to;
  u64 count;
  u32 fromType;
  u32 toType;
};

// Several elements per thread and round, a whole grid apart, so that neighbouring threads touch neighbouring elements.
template <typename From, typename To>
__device__ __forceinline__ void castElements(const Cast& c) {
  const typename From::Stored* from = reinterpret_cast<const typename From::Stored*>(c.from);
  typename To::Stored* to = reinterpret_cast<typename To::Stored*>(c.to);
  u64 step = (u64) gridDim.x * blockDim.x;
  u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < c.count; i += 4 * step) {
    typename From::Stored held[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      held[k] = from[i + k * step];
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      to[i + k * step] = To::store(From::load(held[k]));
    }
  }
  for (; i < c.count; i += step) {
    to[i] = To::store(From::load(from[i]));
  }
}

extern "C" __global__ void __launch_bounds__(256) hawser_cast(Cast c) {
  switch (c.fromType * 8 + c.toType) {
    case F32 * 8 + BF16: castElements<F32Codec, BF16Codec>(c); break;
    case F32 * 8 + F16: castElements<F32Codec, F16Codec>(c); break;
    case BF16 * 8 + F32: castElements<BF16Codec, F32Codec>(c); break;
    case BF16 * 8 + F16: castElements<BF16Codec, F16Codec>(c); break;
    case F16 * 8 + F32: castElements<F16Codec, F32Codec>(c); break;
    case F16 * 8 + BF16: castElements<F16Codec, BF16Codec>(c); break;
  }
}

// -------------------------------------------------------------------------------------------------------------- reduce

// The numbers of dev.hawser.memory.ReduceOp, in its order.
enum ReduceOp { SUM, MIN, MAX, AVG };

struct Reduce {
  u64 table;  // addresses of the arrays
  u64 to;
  u64 count;
  u32 arrays;
  u32 op;
  u32 type;
};

__device__ __forceinline__ float lesser(float a, float b) {
  return a != a ? a : b != b ? b : a == b ? ofBits(bitsOf(a) | bitsOf(b)) : a < b ? a : b;
}

__device__ __forceinline__ float greater(float a, float b) {
  return a != a ? a : b != b ? b : a == b ? ofBits(bitsOf(a) & bitsOf(b)) : a > b ? a : b;
}

__device__ __forceinline__ double lesser(double a, double b) {
  return a != a ? a : b != b ? b
      : a == b ? __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b)) : a < b ? a : b;
}

__device__ __forceinline__ double greater(double a, double b) {
  return a != a ? a : b != b ? b
      : a == b ? __longlong_as_double(__double_as_longlong(a) & __double_as_longlong(b)) : a > b ? a : b;
}

__device__ __forceinline__ i64 lesser(i64 a, i64 b) {
  return a < b ? a : b;
}

__device__ __forceinline__ i64 greater(i64 a, i64 b) {
  return a > b ? a : b;
}

template <typename Codec>
__device__ __forceinline__ void reduceElements(const Reduce& r) {
  typedef typename Codec::Stored Stored;
  typedef typename Codec::Value Value;
  const u64* table = reinterpret_cast<const u64*>(r.table);
  u64 step = (u64) gridDim.x * blockDim.x;
  for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < r.count; i += step) {
    Value joined = Codec::load(reinterpret_cast<const Stored*>(table[0])[i]);
    for (u32 k = 1; k < r.arrays; k++) {
      Value other = Codec::load(reinterpret_cast<const Stored*>(table[k])[i]);
      switch (r.op) {
        case MIN: joined = lesser(joined, other); break;
        case MAX: joined = greater(joined, other); break;
        default: joined = joined + other; break;
      }
    }
    if (r.op == AVG) {
      joined = joined / (Value) r.arrays;
    }
    reinterpret_cast<Stored*>(r.to)[i] = Codec::store(joined);
  }
}

extern "C" __global__ void __launch_bounds__(256) hawser_reduce(Reduce r) {
  switch (r.type) {
    case F32: reduceElements<F32Codec>(r); break;
    case F64: reduceElements<F64Codec>(r); break;
    case BF16: reduceElements<BF16Codec>(r); break;
    case F16: reduceElements<F16Codec>(r); break;
    case I32: reduceElements<I32Codec>(r); break;
    case I64: reduceElements<I64Codec>(r); break;
  }
}
