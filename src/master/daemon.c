/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "master/daemon.h"
#include "master/master.h"

/* The parent's part: one byte is the exit status, the end of the pipe without one a crash. */
static _Noreturn void wait_for(int fd)
{
	unsigned char status;
	ssize_t n;

	do
		n = read(fd, &status, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(status);
	fputs("leased: error: the server died while it started\n", stderr);
	_exit(MASTER_EXIT_BUG);
}

int daemon_start(void)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fflush(NULL);
	pid = fork();
	if (pid > 0) {
		close(ends[1]);
		wait_for(ends[0]);
	}
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[0]);
	/* The second fork leaves a process that leads no session and can get no terminal. */
	if (setsid() < 0 || (pid = fork()) < 0 || (pid == 0 && chdir("/") < 0)) {
		perror("leased: error: daemon");
		_exit(MASTER_EXIT_SYSTEM);
	}
	if (pid > 0)
		_exit(0);
	return ends[1];
}

void daemon_tell(int *ready, int status, int keep_stderr)
{
	unsigned char byte = (unsigned char)status;
	int null = -1;
	ssize_t n;

	if (*ready < 0)
		return;
	if (status == 0)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		if (!keep_stderr)
			dup2(null, STDERR_FILENO);
		close(null);
	}
	do
		n = write(*ready, &byte, 1);
	while (n < 0 && errno == EINTR);
	close(*ready);
	*ready = -1;
}
