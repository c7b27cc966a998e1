/* Counts what a program and its children change below a folder, and disturbs it at one change: `tools/crash.py`.
 *
 * Loaded by LD_PRELOAD. Changes are opening for writing, writes, fsync, new names, removed names, new folders.
 * The environment says what to do:
 *   FAULT_FOLDER   the folder, an absolute path without links
 *   FAULT_COUNTER  a file of 8 bytes, shared by all processes: how many changes there were
 *   FAULT_AT       the number of the change that is disturbed, from 1; 0 counts only
 *   FAULT_WITH     kill: SIGKILL, a write is half done then; ENOSPC: there is no room from then on, a write is half
 *                  done first; EIO: fsync alone is counted, and fails at that one
 *   FAULT_SYNCED   a folder for the octets that fsync brought to the disk, a file for each inode: a power cut
 *                  leaves no others
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum change { OPENS, WRITES, SYNCS, NAMES, REMOVES };
enum fault { NONE, KILL, FULL, FAILS };

static char folder[PATH_MAX], synced[PATH_MAX];
static unsigned long *counter, at;
static enum fault with;

/* Also for a program that has set its environment since it was loaded. */
__attribute__((constructor)) void faults_begin(void) {
    const char *where = getenv("FAULT_FOLDER"), *count = getenv("FAULT_COUNTER"), *into = getenv("FAULT_SYNCED");
    const char *number = getenv("FAULT_AT"), *what = getenv("FAULT_WITH");
    if (!where || !count) return;
    snprintf(folder, sizeof folder, "%s", where);
    snprintf(synced, sizeof synced, "%s", into ? into : "");
    at = number ? strtoul(number, NULL, 10) : 0;
    if (at) with = !strcmp(what, "kill") ? KILL : !strcmp(what, "ENOSPC") ? FULL : FAILS;
    else if (what && !strcmp(what, "EIO")) with = FAILS;
    int file = REAL(open)(count, O_RDWR);
    if (file < 0) return;
    counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (counter == MAP_FAILED) counter = NULL;
}

static int is_inside(const char *path) {
    size_t length = strlen(folder);
    return counter && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static int path_is_inside(int base, const char *path) {
    char whole[2 * PATH_MAX], link[64], start[PATH_MAX];
    if (!counter || path[0] == '/') return is_inside(path);
    if (base == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", base);
    ssize_t length = readlink(link, start, sizeof start - 1);
    if (length < 0) return 0;
    start[length] = 0;
    snprintf(whole, sizeof whole, "%s/%s", start, path);
    return is_inside(whole);
}

static int file_is_inside(int file) { return path_is_inside(file, "."); }

/* Counts a change. Kills before it, or says that it fails: 1, and `errno` is set; -1, if it is to be half done. */
static int fails(enum change change) {
    if (with == FAILS && change != SYNCS) return 0;
    unsigned long number = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    if (!at || number < at || (number > at && with != FULL)) return 0;
    if (change == WRITES && number == at) return -1;
    if (with == KILL) raise(SIGKILL);
    if (with == FULL && change == REMOVES) return 0;
    errno = with == FULL ? ENOSPC : EIO;
    return 1;
}

static void synced_file(int file, char *into, size_t size) {
    struct stat about;
    fstat(file, &about);
    snprintf(into, size, "%s/%lu", synced, (unsigned long)about.st_ino);
}

/* Keeps what a file holds now. */
static void keep(int file) {
    char into[PATH_MAX + 32], from[64], octets[65536];
    struct stat about;
    if (!synced[0] || fstat(file, &about) || !S_ISREG(about.st_mode)) return;
    synced_file(file, into, sizeof into);
    snprintf(from, sizeof from, "/proc/self/fd/%d", file);
    int in = REAL(open)(from, O_RDONLY), out = REAL(open)(into, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t count; (count = read(in, octets, sizeof octets)) > 0;)
        if (REAL(write)(out, octets, count) != count) abort();
    close(in), close(out);
}

/* A new file may have the number of one that is gone. */
static void forget(int file) {
    char into[PATH_MAX + 32];
    struct stat about;
    if (!synced[0] || fstat(file, &about) || about.st_size) return;
    synced_file(file, into, sizeof into);
    REAL(unlink)(into);
}

static int opened(int base, const char *path, int flags, mode_t mode) {
    int changes = (flags & O_ACCMODE) != O_RDONLY && path_is_inside(base, path);
    if (changes && fails(OPENS)) return -1;
    int file = REAL(openat)(base, path, flags, mode);
    if (changes && file >= 0) forget(file);
    return file;
}

#define OPEN(name, arguments, base)                                 \
    int name arguments {                                            \
        mode_t mode = 0;                                            \
        if (flags & (O_CREAT | O_TMPFILE)) {                        \
            va_list more;                                           \
            va_start(more, flags);                                  \
            mode = va_arg(more, mode_t);                            \
            va_end(more);                                           \
        }                                                           \
        return opened(base, path, flags, mode);                     \
    }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, (int base, const char *path, int flags, ...), base)
OPEN(openat64, (int base, const char *path, int flags, ...), base)

ssize_t write(int file, const void *octets, size_t count) {
    int failure = file > 2 && file_is_inside(file) ? fails(WRITES) : 0;
    if (failure > 0) return -1;
    if (failure < 0) {
        ssize_t half = REAL(write)(file, octets, count / 2);
        if (with == KILL) raise(SIGKILL);
        if (half > 0) return half;
        errno = ENOSPC;
        return -1;
    }
    return REAL(write)(file, octets, count);
}

static int sync_with(int file, int (*real)(int)) {
    if (file_is_inside(file)) {
        if (fails(SYNCS)) return -1;
        keep(file);
    }
    return real(file);
}
int fsync(int file) { return sync_with(file, REAL(fsync)); }
int fdatasync(int file) { return sync_with(file, REAL(fdatasync)); }

int rename(const char *from, const char *to) {
    return path_is_inside(AT_FDCWD, to) && fails(NAMES) ? -1 : REAL(rename)(from, to);
}
int renameat(int from_base, const char *from, int base, const char *to) {
    return path_is_inside(base, to) && fails(NAMES) ? -1 : REAL(renameat)(from_base, from, base, to);
}
int mkdir(const char *path, mode_t mode) {
    return path_is_inside(AT_FDCWD, path) && fails(NAMES) ? -1 : REAL(mkdir)(path, mode);
}
int mkdirat(int base, const char *path, mode_t mode) {
    return path_is_inside(base, path) && fails(NAMES) ? -1 : REAL(mkdirat)(base, path, mode);
}
int unlink(const char *path) {
    return path_is_inside(AT_FDCWD, path) && fails(REMOVES) ? -1 : REAL(unlink)(path);
}
int unlinkat(int base, const char *path, int flags) {
    return path_is_inside(base, path) && fails(REMOVES) ? -1 : REAL(unlinkat)(base, path, flags);
}
int rmdir(const char *path) {
    return path_is_inside(AT_FDCWD, path) && fails(REMOVES) ? -1 : REAL(rmdir)(path);
}
int ftruncate64(int file, off_t length) {
    return file_is_inside(file) && fails(OPENS) ? -1 : REAL(ftruncate64)(file, length);
}
int ftruncate(int file, off_t length) { return ftruncate64(file, length); }
