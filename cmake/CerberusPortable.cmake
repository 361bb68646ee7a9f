# What runs on machines other than the one it was built on.
option(CERBERUS_PORTABLE
  "Programs and libraries need glibc 2.28 and no other library, but libzip" ON)

# cerberus_for_old_glibc(<target>): glibc 2.28 is enough and no libstdc++ is
# needed (support/glibc_compat.cc). In 2.28 libdl and libpthread are libraries
# of their own.
function(cerberus_for_old_glibc target)
  # A sanitizer's runtime is in the program, so with one this cannot hold.
  if(CERBERUS_SANITIZE)
    return()
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:cerberus_glibc_compat>)
  target_link_options(${target} PRIVATE
    -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,-z,defs
    "SHELL:-Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--as-needed")
  foreach(function
      __libc_start_main __pthread_key_create arc4random dladdr dlclose dlerror
      dlinfo dlopen dlsym dlvsym exp exp2 fstat fstat64 fstatat hypot hypotf
      log log2 lstat lstat64 mallinfo2 pow
      pthread_attr_setstacksize pthread_cond_clockwait
      pthread_create pthread_detach pthread_getname_np pthread_getspecific
      pthread_join pthread_key_create pthread_key_delete pthread_mutex_trylock
      pthread_mutexattr_destroy pthread_mutexattr_init pthread_mutexattr_settype
      pthread_once pthread_rwlock_rdlock pthread_rwlock_unlock
      pthread_rwlock_wrlock pthread_setname_np pthread_setspecific
      pthread_sigmask stat stat64)
    target_link_options(${target} PRIVATE -Wl,--wrap=${function})
  endforeach()
endfunction()

# What programs that people start at home need not be.
function(cerberus_portable target)
  if(CERBERUS_PORTABLE)
    cerberus_for_old_glibc(${target})
  endif()
endfunction()
