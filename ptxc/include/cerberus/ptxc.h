/* libcerberus-ptxc: PTX in, one AMD code object out.
 *
 * A pure function of (PTX, target, options): it reads no environment variable,
 * no file but those of options.parts_folder, and the same input gives the same
 * bytes. All
 * functions may be called from several threads at once.
 *
 *   cerberus_ptxc_options options = {sizeof options};
 *   options.arch = "gfx1100";
 *   cerberus_ptxc_result* result = NULL;
 *   if (cerberus_ptxc_compile(text, size, &options, &result) ==
 *       CERBERUS_PTXC_OK) {
 *     use(cerberus_ptxc_result_data(result),
 *         cerberus_ptxc_result_size(result));
 *   }
 *   cerberus_ptxc_result_free(result);
 */
#ifndef CERBERUS_PTXC_H_
#define CERBERUS_PTXC_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CERBERUS_PTXC_API __declspec(dllexport)
#else
#define CERBERUS_PTXC_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are never reused. */
typedef enum cerberus_ptxc_status {
  CERBERUS_PTXC_OK = 0,
  CERBERUS_PTXC_SOME_KERNELS_FAILED = 1, /* only with keep_going */
  CERBERUS_PTXC_BAD_PTX = 2,
  CERBERUS_PTXC_UNSUPPORTED = 3, /* well-formed PTX we cannot lower */
  CERBERUS_PTXC_USAGE = 4,       /* options that make no sense */
  CERBERUS_PTXC_COMPILER = 5     /* LLVM or the linker failed */
} cerberus_ptxc_status;

typedef enum cerberus_ptxc_emit {
  CERBERUS_PTXC_EMIT_HSACO = 0, /* linked code object */
  CERBERUS_PTXC_EMIT_OBJ = 1,   /* relocatable object */
  CERBERUS_PTXC_EMIT_ASM = 2,   /* AMD assembly */
  CERBERUS_PTXC_EMIT_LL = 3,    /* LLVM IR after the pipeline */
  CERBERUS_PTXC_EMIT_LL_RAW = 4 /* LLVM IR as lowered */
} cerberus_ptxc_emit;

typedef enum cerberus_ptxc_severity {
  CERBERUS_PTXC_ERROR = 0,
  CERBERUS_PTXC_WARNING = 1,
  CERBERUS_PTXC_NOTE = 2
} cerberus_ptxc_severity;

/* One message. Strings live until the callback returns. */
typedef struct cerberus_ptxc_diag {
  uint32_t size; /* of this struct, as the library knows it */
  cerberus_ptxc_severity severity;
  uint32_t code;           /* cerberus::DiagCode */
  const char* text;        /* the whole line, with its position */
  const char* message;     /* the words alone */
  const char* kernel;      /* demangled, or "" */
  int32_t ptx_line;        /* 1-based, 0: unknown */
  int32_t ptx_column;      /* 1-based, 0: unknown */
  const char* source_file; /* CUDA file from .loc, or "" */
  int32_t source_line;     /* 1-based, 0: unknown */
} cerberus_ptxc_diag;

typedef void (*cerberus_ptxc_diag_callback)(const cerberus_ptxc_diag* diag,
                                            void* user);

/* How far the compilation of a module is. */
typedef struct cerberus_ptxc_progress {
  size_t size; /* of this struct, as the library knows it */
  size_t kernels_done;
  size_t kernels;
  size_t instructions_done; /* of PTX; a measure of the work */
  size_t instructions;
} cerberus_ptxc_progress;

typedef void (*cerberus_ptxc_progress_callback)(
    const cerberus_ptxc_progress* progress, void* user);

typedef struct cerberus_ptxc_options {
  size_t size;      /* sizeof(cerberus_ptxc_options) of the caller */
  const char* arch; /* target id: "gfx1100", "gfx942:xnack-" */
  cerberus_ptxc_emit emit;
  int32_t keep_going;     /* leave kernels out that cannot be lowered */
  int32_t opt_level;      /* 0..3; 0 in a zeroed struct means the default, 2;
                             -1 asks for no optimisation */
  int32_t verify_each;    /* run LLVM's verifier after every pass */
  const char* input_name; /* for messages, may be NULL */
  cerberus_ptxc_diag_callback on_diag; /* may be NULL */
  void* user;                          /* handed to on_diag */
  int32_t one_warp_per_wave; /* where waves have 64 lanes, never put two warps
                                into one (docs/launch-abi.md, "Warps") */
  int32_t time_trace;        /* note where the time goes */
  int32_t jobs;            /* threads for a large module, at least 1; the output
                              does not depend on it */
  int32_t shared_overflow; /* 1: shared memory above the hardware's lies in
                              device memory (docs/launch-abi.md, "Shared memory
                              in a window"); 2: so does all other, for tests */
  int32_t isolate;  /* compile parts of the module in processes of their own, so
                       that a kernel that crashes the compiler or takes too long
                       costs itself only. Forks: the caller has no other
                       threads. Not together with time_trace */
  uint32_t seconds; /* with isolate: processor time for a kernel of up to 10,000
                       PTX instructions, 0: no limit; one with more has as many
                       times more */
  const char* parts_folder; /* with isolate: where finished parts are kept until
                               the module is done, so that a call that is cut
                               short and made again finds them; NULL: nowhere */
  cerberus_ptxc_progress_callback on_progress; /* with isolate; may be NULL */
  int32_t serial_lanes; /* lanes of a warp go on one by one wherever one might
                           wait for another: slow, for programs that hang */
  int32_t slots_fd; /* with isolate: of `jobs`, those after the first are taken
                       from here and given back, a nonblocking eventfd that is a
                       semaphore; 0: all are the caller's */
  const char* only_kernel; /* mangled, with variables 1: compiles this one
                              alone, to be loaded beside code for others of the
                              module; an error where it takes addresses of code.
                              NULL: all */
  int32_t variables; /* 1: those that code objects of one module share are not
                        in this one; 2: those alone are, and no kernels
                        (docs/launch-abi.md, "Variables of kernels that are
                        compiled apart") */
} cerberus_ptxc_options;

typedef struct cerberus_ptxc_result cerberus_ptxc_result;

/* Compiles one module, or links several that stand behind one another, each
 * beginning with its .version directive, as nvcc -rdc=true makes them: the
 * names that a module declares .extern are looked up in the others. In
 * messages, lines are counted from the start of the module. *result is set in
 * every case, also on failure, and is freed with cerberus_ptxc_result_free.
 * `ptx` need not end in NUL; a NUL ends it. */
CERBERUS_PTXC_API cerberus_ptxc_status cerberus_ptxc_compile(
    const char* ptx, size_t ptx_size, const cerberus_ptxc_options* options,
    cerberus_ptxc_result** result);

CERBERUS_PTXC_API void cerberus_ptxc_result_free(cerberus_ptxc_result* result);

/* The output; size 0 if there is none. */
CERBERUS_PTXC_API const void* cerberus_ptxc_result_data(
    const cerberus_ptxc_result* result);
CERBERUS_PTXC_API size_t
cerberus_ptxc_result_size(const cerberus_ptxc_result* result);

/* Kernels in the output, and those left out with the reason; mangled names
 * in PTX order. An index out of range gives NULL. */
CERBERUS_PTXC_API size_t
cerberus_ptxc_result_kernel_count(const cerberus_ptxc_result* result);
CERBERUS_PTXC_API const char* cerberus_ptxc_result_kernel(
    const cerberus_ptxc_result* result, size_t index);
CERBERUS_PTXC_API size_t
cerberus_ptxc_result_failed_count(const cerberus_ptxc_result* result);
CERBERUS_PTXC_API const char* cerberus_ptxc_result_failed_kernel(
    const cerberus_ptxc_result* result, size_t index);
CERBERUS_PTXC_API const char* cerberus_ptxc_result_failed_reason(
    const cerberus_ptxc_result* result, size_t index);

/* With time_trace: events of phases, passes and functions, one line of JSON in
 * the trace event format that LLVM's tools write; else "". */
CERBERUS_PTXC_API const char* cerberus_ptxc_result_time_trace(
    const cerberus_ptxc_result* result);

/* Version of the compiler and of the launch ABI its output follows; both
 * belong into the key of any cache of compiled code. */
CERBERUS_PTXC_API const char* cerberus_ptxc_version(void);
CERBERUS_PTXC_API uint32_t cerberus_ptxc_launch_abi(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CERBERUS_PTXC_H_ */
