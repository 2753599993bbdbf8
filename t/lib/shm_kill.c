/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "shm_kill.h"

static void add(struct shm_image *image, uint64_t at, size_t size)
{
	CHECK(image->parts < sizeof image->part / sizeof *image->part);
	image->part[image->parts++] = (struct shm_part){image->map->base + at, size};
	image->size += size;
}

void shm_image_init(struct shm_image *image, const struct shm_map *map, unsigned slots,
		    uint32_t nodes, uint32_t chunks)
{
	const struct shm_shape *shape = &map->shape;

	*image = (struct shm_image){.map = map};
	add(image, 0, shape->slots);
	add(image, shape->record_busy, (shape->capacity + 63) / 64 * 8);
	add(image, shape->chunk_busy, chunks / 8);
	add(image, shape->records, shape->capacity * sizeof(struct shm_record));
	add(image, shape->chunk_base, chunks * sizeof(struct shm_chunk));
	for (unsigned i = 0; i < slots; i++) {
		add(image, shape->slots + i * sizeof(struct shm_slot),
		    offsetof(struct shm_slot, bell.cond));
		add(image, shape->bottoms + i * shape->bottom_each, (nodes + 63) / 64 * 8);
		add(image, shape->nodes + i * shape->waiters * sizeof(struct shm_waiter),
		    nodes * sizeof(struct shm_waiter));
	}
}

uint8_t *shm_image_save(const struct shm_image *image)
{
	uint8_t *copy = malloc(image->size), *to = copy;

	CHECK(copy != NULL);
	for (size_t i = 0; i < image->parts; to += image->part[i++].size)
		memcpy(to, image->part[i].at, image->part[i].size);
	return copy;
}

void shm_image_restore(const struct shm_image *image, const uint8_t *copy)
{
	for (size_t i = 0; i < image->parts; copy += image->part[i++].size)
		memcpy(image->part[i].at, copy, image->part[i].size);
}

int shm_image_moved(const struct shm_image *image, uint8_t *copy)
{
	int moved = 0;

	for (size_t i = 0; i < image->parts; copy += image->part[i++].size)
		if (memcmp(copy, image->part[i].at, image->part[i].size) != 0) {
			memcpy(copy, image->part[i].at, image->part[i].size);
			moved = 1;
		}
	return moved;
}

void shm_image_bury(const struct shm_map *map, pid_t pid)
{
	for (unsigned i = 0; i < SHM_STRIPES; i++) {
		_Atomic int *word = (_Atomic int *)&map->stripe[i].mutex.__data.__lock;
		unsigned value = (unsigned)atomic_load(word);

		if ((value & FUTEX_TID_MASK) == (unsigned)pid)
			atomic_store(word, (int)((value & FUTEX_WAITERS) | FUTEX_OWNER_DIED));
	}
}

struct stage {
	_Atomic int inside, over;
};

static pid_t start(void (*f)(void *arg), void *arg, struct stage *stage)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		atomic_store(&stage->inside, 1);
		f(arg);
		atomic_store(&stage->over, 1);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
	return pid;
}

long shm_kill_at(void (*f)(void *arg), void *arg, long steps, shm_watch_f *watch, void *watch_arg)
{
	struct stage *stage =
	    mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = start(f, arg, stage);
	long step = 0;
	int status;

	while (step < steps && !atomic_load(&stage->over)) {
		CHECK(ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFSTOPPED(status));
		if (!atomic_load(&stage->inside))
			continue;
		step++;
		if (watch)
			watch(watch_arg, step, pid);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	step = atomic_load(&stage->over) ? -step : step;
	munmap(stage, sizeof *stage);
	return step;
}
