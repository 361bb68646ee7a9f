/* Files as on NFS, for LD_PRELOAD: none without a name, no rename that must not
   replace, no holes that are made, no attributes, no copies of blocks; an open
   file that is removed gets a name, .nfsN, until it is closed. LOCKS=0: nor are
   there locks. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int Refuse(int error) {
  errno = error;
  return -1;
}

static int OpenAt(int folder, const char* path, int flags, int mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) return Refuse(EOPNOTSUPP);
  return NEXT(openat)(folder, path, flags, mode);
}

#define MODE(last)              \
  va_list list;                 \
  va_start(list, last);         \
  int mode = va_arg(list, int); \
  va_end(list);

int open(const char* path, int flags, ...) {
  MODE(flags)
  return OpenAt(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  MODE(flags)
  return OpenAt(AT_FDCWD, path, flags, mode);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) {
  return flags ? Refuse(EINVAL) : renameat(from_folder, from, to_folder, to);
}

int flock(int file, int operation) {
  const char* locks = getenv("LOCKS");
  if (locks && *locks == '0') return Refuse(ENOLCK);
  return NEXT(flock)(file, operation);
}

int fallocate(int file, int mode, off_t offset, off_t size) {
  (void)file, (void)mode, (void)offset, (void)size;
  return Refuse(EOPNOTSUPP);
}

int fsetxattr(int file, const char* name, const void* value, size_t size,
              int flags) {
  (void)file, (void)name, (void)value, (void)size, (void)flags;
  return Refuse(EOPNOTSUPP);
}

ssize_t copy_file_range(int in, off_t* in_at, int out, off_t* out_at,
                        size_t size, unsigned flags) {
  (void)in, (void)in_at, (void)out, (void)out_at, (void)size, (void)flags;
  return Refuse(EXDEV);
}

/* Removed while they were open. */
static struct {
  dev_t device;
  ino_t inode;
  char name[4096];
} removed[256];
static int count;

static int IsOpen(const struct stat* st) {
  DIR* files = opendir("/proc/self/fd");
  struct dirent* entry;
  int found = 0;
  while (files && (entry = readdir(files))) {
    struct stat other;
    if (fstat(atoi(entry->d_name), &other) == 0 && other.st_ino == st->st_ino &&
        other.st_dev == st->st_dev) {
      found = 1;
    }
  }
  if (files) closedir(files);
  return found;
}

int unlinkat(int folder, const char* path, int flags) {
  struct stat st;
  if ((flags & AT_REMOVEDIR) || count == 256 ||
      fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(st.st_mode) || !IsOpen(&st)) {
    return NEXT(unlinkat)(folder, path, flags);
  }
  char* name = removed[count].name;
  const char* slash = strrchr(path, '/');
  char place[2048] = "";
  if (*path != '/') {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t size = readlink(folder == AT_FDCWD ? "/proc/self/cwd" : link, place,
                            sizeof place - 2);
    place[size < 0 ? 0 : size] = 0;
    strcat(place, "/");
  }
  snprintf(name, sizeof removed[0].name, "%s%.*s.nfs%d.%d", place,
           slash ? (int)(slash + 1 - path) : 0, path, getpid(), count);
  removed[count].device = st.st_dev;
  removed[count].inode = st.st_ino;
  if (renameat(folder, path, AT_FDCWD, name) != 0) return -1;
  ++count;
  return 0;
}

int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }

int close(int file) {
  struct stat st;
  int known = count && fstat(file, &st) == 0;
  int result = NEXT(close)(file);
  for (int i = 0; known && i < count; ++i) {
    if (removed[i].inode == st.st_ino && removed[i].device == st.st_dev &&
        removed[i].name[0] && !IsOpen(&st)) {
      NEXT(unlinkat)(AT_FDCWD, removed[i].name, 0);
      removed[i].name[0] = 0;
    }
  }
  return result;
}
