/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leasectl/family.h"

struct person {
	pid_t pid, parent, group;
	bool alive, ours;
};

struct people {
	struct person *list;
	size_t count, room;
};

/* Reads pid, state, parent and group; the name between may hold any character. */
static bool read_stat(const char *pid, struct person *person)
{
	char path[64], text[512], *rest;
	FILE *file;
	size_t got;

	snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[got] = 0;
	rest = strrchr(text, ')');
	if (!rest || strlen(rest) < 5)
		return false;
	person->pid = (pid_t)strtol(pid, NULL, 10);
	person->alive = rest[2] != 'Z' && rest[2] != 'X';
	person->parent = (pid_t)strtol(rest + 4, &rest, 10);
	person->group = (pid_t)strtol(rest, NULL, 10);
	person->ours = false;
	return true;
}

static bool read_all(struct people *people)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	if (!folder)
		return false;
	while ((entry = readdir(folder))) {
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		if (people->count == people->room) {
			size_t room = people->room ? 2 * people->room : 256;
			void *list = reallocarray(people->list, room, sizeof *people->list);

			if (!list)
				break;
			people->list = list;
			people->room = room;
		}
		if (read_stat(entry->d_name, &people->list[people->count]))
			people->count++;
	}
	closedir(folder);
	return !entry;
}

static bool is_ours(const struct people *people, pid_t parent, pid_t self)
{
	if (parent == self)
		return true;
	for (size_t i = 0; i < people->count; i++)
		if (people->list[i].pid == parent)
			return people->list[i].ours;
	return false;
}

/* A generation a round; most of the time the second finds nothing. */
static void mark(struct people *people, pid_t except)
{
	bool more = true;
	pid_t self = getpid();

	while (more) {
		more = false;
		for (size_t i = 0; i < people->count; i++) {
			struct person *person = &people->list[i];

			if (person->ours || person->pid == except ||
			    !is_ours(people, person->parent, self))
				continue;
			person->ours = more = true;
		}
	}
}

int family_signal(pid_t except, pid_t told, int number)
{
	struct people people = {NULL, 0, 0};
	int count = -1;

	if (read_all(&people)) {
		mark(&people, except);
		count = 0;
		for (size_t i = 0; i < people.count; i++) {
			if (!people.list[i].ours || !people.list[i].alive)
				continue;
			count++;
			if (number && people.list[i].group != told)
				kill(people.list[i].pid, number);
		}
	}
	free(people.list);
	return count;
}
