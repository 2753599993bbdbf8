/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a server under test: shifts its wall clock, and nothing else, by the seconds that
 * stand as one int64_t in the file LEASED_WALL_STEP. The file is mapped, so that a step takes
 * effect at once in all processes. Waits until a moment of the wall clock are shifted back for the
 * kernel, which knows nothing of the step (the C core's timer threads wait so). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *step;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static long (*real_syscall)(long number, ...);

__attribute__((constructor)) static void map_step(void)
{
	const char *path = getenv("LEASED_WALL_STEP");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *found = fd >= 0 ? mmap(NULL, sizeof *step, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	real_clock_gettime =
	    (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (found == MAP_FAILED || !real_clock_gettime || !real_syscall)
		abort();
	close(fd);
	step = found;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result;

	if (!step) /* called before the constructor, by another one */
		map_step();
	result = real_clock_gettime(clock, time);
	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		time->tv_sec += *step;
	return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -1;
	time->tv_sec = now.tv_sec;
	time->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *result)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}

long syscall(long number, ...)
{
	long argument[6];
	struct timespec until;
	va_list list;

	if (!step)
		map_step();
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex && (argument[1] & FUTEX_CLOCK_REALTIME) && argument[3]) {
		until = *(const struct timespec *)argument[3];
		until.tv_sec -= *step;
		argument[3] = (long)&until;
	}
	return real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4],
			    argument[5]);
}
