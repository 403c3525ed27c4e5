/* SPDX-License-Identifier: MIT */
/*
 * Standard input, the same for each run.
 *
 * A pipe can be read once; the second run would see an empty one and look
 * wonderfully fast.  The copy is a file, not memory: it may be large, and we
 * must stay small (child.c).
 *
 * A pipe that nobody ever closes would make us wait for ever: after two
 * seconds the user is told what we wait for.
 */
#include "spool.h"
#include "child.h"
#include "cli.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPOOL_WAIT_MS = 2000 };

static int unlinked_file(const char *dir)
{
	char *path = xasprintf("%s/stdin", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

static void tell_if_slow(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	if (poll(&p, 1, SPOOL_WAIT_MS) == 0)
		say("waiting for the end of standard input, to give it to each run "
		    "(use </dev/null if the command does not read it)");
}

static int write_all(int fd, const char *p, size_t n)
{
	ssize_t done;

	for (; n; p += done, n -= (size_t)done) {
		done = write(fd, p, n);
		if (done < 0)
			return -errno;
	}
	return 0;
}

/* Returns 0 or a negative errno; -EINTR when we are asked to end. */
static int copy_stdin(int to)
{
	char buf[65536];
	ssize_t n;
	int rc;

	tell_if_slow();
	for (;;) {
		n = read(STDIN_FILENO, buf, sizeof(buf));
		if (n == 0)
			return 0;
		if (n < 0 && (errno != EINTR || child_stopped()))
			return -errno;
		rc = n > 0 ? write_all(to, buf, (size_t)n) : 0;
		if (rc)
			return rc;
	}
}

int spool_open(struct spool *s, const char *dir)
{
	struct stat st;
	int rc;

	s->fd = -1;
	s->start = 0;
	if (fstat(STDIN_FILENO, &st) || S_ISCHR(st.st_mode) ||
	    S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
		return 0;
	if (S_ISREG(st.st_mode)) {
		s->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		s->start = lseek(STDIN_FILENO, 0, SEEK_CUR);
		return 0;
	}
	s->fd = unlinked_file(dir);
	rc = s->fd < 0 ? -errno : copy_stdin(s->fd);
	if (!rc || child_stopped())
		return 0;
	say("cannot keep standard input: %s", strerror(-rc));
	return CLI_OWN;
}

void spool_rewind(const struct spool *s)
{
	if (s->fd >= 0)
		lseek(s->fd, s->start, SEEK_SET);
}

void spool_close(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
