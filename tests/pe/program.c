/* A stand-in for a Windows DLL that nvcc built: wrappers and fatbins in the
   sections that it uses, an exported function with an exception table, a
   pointer that is relocated. No C library: nothing is run. */
#define PTX \
  ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(){ret;}\n"
#define TEXT 6000

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct fatbin {
  u32 magic;
  u16 version, header_size;
  u64 size;
  struct {
    u16 kind, version;
    u32 header_size;
    u64 size;
    u32 packed_size, options;
    u16 minor, major;
    u32 sm, name_offset, name_size;
    u64 flags, hash, unpacked_size;
  } entry;
  char text[TEXT];
};
#define FATBIN                                              \
  {0xBA55ED50,                                              \
   1,                                                       \
   16,                                                      \
   sizeof(struct fatbin) - 16,                              \
   {1, 0x0101, 64, TEXT, 0, 0, 0, 8, 75, 0, 0, 0x11, 0, 0}, \
   PTX}

struct wrapper {
  u32 magic, version;
  const void* data;
  void* last;
};

#pragma section(".nv_fatb", read)
#pragma section(".nvFatBi", read, write)
__declspec(allocate(".nv_fatb")) const struct fatbin first = FATBIN;
__declspec(allocate(".nv_fatb")) const struct fatbin second = FATBIN;
__declspec(allocate(".nvFatBi")) struct wrapper wrappers[2] = {
    {0x466243b1, 1, &first, 0}, {0x466243b1, 1, &second, 0}};

static int value = 42;
int* pointer = &value;

__declspec(dllexport) int run(int a, int b) {
  volatile int local[64];
  for (int i = 0; i < 64; ++i) local[i] = a * i + b;
  return local[a & 63] + *pointer + (int)wrappers[b & 1].version;
}

#ifdef READS_ITSELF
__declspec(dllexport) int read_itself(int i) { return second.text[i]; }
#endif

int start(void) { return run(1, 2); }
