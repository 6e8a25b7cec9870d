/* What a power cut leaves: loaded before libc, this notes each fsync and fdatasync of files below a folder.

   SYNCED_HOME    the folder
   SYNCED_FOLDER  where the notes go:
       log          a line for each, the path
       files/KEY    with SYNCED_COPIES: a file's content as of then; KEY is the file, whatever it is called
       folders/PATH with SYNCED_COPIES: a folder's names as of then, a line for each: "f KEY name" or "d - name"
       delay        how many microseconds each takes, if the test says so: a slow disk

   The note is made before the call returns, and under another name first: whoever is killed meanwhile has none. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int key_of(int folder, const char *name, int flags, char *key, size_t size) {
    struct statx facts;
    if (statx(folder, name, flags | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &facts) != 0) return -1;
    /* Numbers of files are used again; with the time of its birth it is this one. */
    snprintf(key, size, "%llu-%lld.%u", (unsigned long long)facts.stx_ino, (long long)facts.stx_btime.tv_sec,
             facts.stx_btime.tv_nsec);
    return S_ISDIR(facts.stx_mode) ? 1 : S_ISREG(facts.stx_mode) ? 0 : -1;
}

static int open_beside(const char *target, char *beside, size_t size) {
    snprintf(beside, size, "%s.%d.new", target, gettid());
    return open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void keep_file(int source, const char *target) {
    char beside[PATH_MAX], bytes[1 << 16];
    int copy = open_beside(target, beside, sizeof beside);
    off_t at = 0;
    ssize_t got;
    if (copy < 0) return;
    while ((got = pread(source, bytes, sizeof bytes, at)) > 0) {
        if (write(copy, bytes, got) != got) abort();
        at += got;
    }
    close(copy);
    rename(beside, target);
}

static void keep_names(const char *path, const char *target) {
    char beside[PATH_MAX], key[64];
    int copy = open_beside(target, beside, sizeof beside), kind;
    DIR *folder = copy < 0 ? NULL : opendir(path);
    struct dirent *entry;
    if (!folder) return;
    while ((entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        kind = key_of(dirfd(folder), entry->d_name, 0, key, sizeof key);
        if (kind >= 0) dprintf(copy, "%s %s %s\n", kind ? "d" : "f", kind ? "-" : key, entry->d_name);
    }
    closedir(folder);
    close(copy);
    rename(beside, target);
}

static void keep(int fd, const char *notes, const char *path, const char *inside) {
    char key[64], target[PATH_MAX], name[NAME_MAX];
    int kind = key_of(fd, "", AT_EMPTY_PATH, key, sizeof key);
    if (kind == 0) {
        snprintf(target, sizeof target, "%s/files/%s", notes, key);
        keep_file(fd, target);
    } else if (kind == 1) {
        snprintf(name, sizeof name, "%s/", inside);
        for (char *each = name; *each; each++)
            if (*each == '/') *each = '%';
        snprintf(target, sizeof target, "%s/folders/%s", notes, name);
        keep_names(path, target);
    }
}

static void wait_for_disk(const char *notes) {
    char path[PATH_MAX], text[32];
    int file, got;
    snprintf(path, sizeof path, "%s/delay", notes);
    if ((file = open(path, O_RDONLY | O_CLOEXEC)) < 0) return;
    got = read(file, text, sizeof text - 1);
    close(file);
    text[got > 0 ? got : 0] = 0;
    usleep(atoi(text));
}

static void note(int fd) {
    const char *home = setting("SYNCED_HOME"), *notes = setting("SYNCED_FOLDER");
    char link[64], path[PATH_MAX], line[PATH_MAX + 1];
    ssize_t got;
    int log;
    if (!home || !notes) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if ((got = readlink(link, path, sizeof path - 1)) < 0) return;
    path[got] = 0;
    if (strncmp(path, home, strlen(home)) || (path[strlen(home)] && path[strlen(home)] != '/')) return;
    wait_for_disk(notes);
    if (setting("SYNCED_COPIES")) keep(fd, notes, path, path + strlen(home));
    snprintf(line, sizeof line, "%s/log", notes);
    if ((log = open(line, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0) return;
    got = snprintf(line, sizeof line, "%s\n", path);
    if (write(log, line, got) != got) abort();
    close(log);
}

#define SYNCING(name)                                                    \
    int name(int fd) {                                                   \
        static int (*real)(int);                                         \
        int came;                                                        \
        if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, #name);         \
        came = real(fd);                                                 \
        if (came == 0) note(fd);                                         \
        return came;                                                     \
    }

SYNCING(fsync)
SYNCING(fdatasync)
