/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/supervisor.h - the state of one `run` and how it moves. run.c owns the loop,
 * supervisor.c what happens at each event. */
#ifndef LEASED_LEASECTL_SUPERVISOR_H
#define LEASED_LEASECTL_SUPERVISOR_H

#include "leasectl/command.h"
#include "leasectl/keeper.h"
#include "leasectl/options.h"
#include "leasectl/post.h"

/*  WAITING -> RUNNING -> ENDING -> KILLING -> RELEASING -> OVER
 *     |          '---------'---------'----------^
 *     '-------------------------> RELEASING, OVER            (always forward) */
enum supervisor_state {
	SUPERVISOR_WAITING,   /* for the lease */
	SUPERVISOR_RUNNING,   /* the command runs */
	SUPERVISOR_ENDING,    /* it was told to end by TERM, or has ended and left others behind */
	SUPERVISOR_KILLING,   /* SIGKILL, again and again until nobody is left */
	SUPERVISOR_RELEASING, /* nobody is left; the keeper gives the lease back */
	SUPERVISOR_OVER,
};

struct supervisor {
	const struct options *options;
	struct keeper_plan plan;
	enum supervisor_state state;
	struct command command;
	pid_t keeper; /* 0: dead */
	int post;     /* -1: closed */
	struct post lease;
	int64_t kill_us;  /* ENDING: when KILL comes; RELEASING: when waiting for the keeper ends */
	int64_t hold_us;  /* --hold-max; CLOCK_NEVER */
	int64_t again_us; /* when a dead keeper is replaced; CLOCK_NEVER */
	bool lost;	  /* the exit status is STATUS_LOST */
	bool loss_told;
	int interrupts;
	int status; /* of the command, or why there was none */
};

/* When supervisor_time wants to be called next. */
int64_t supervisor_next(const struct supervisor *supervisor);

void supervisor_time(struct supervisor *supervisor);
void supervisor_post(struct supervisor *supervisor);
/* TERM for the command and all below it; KILL follows after the grace, never later than the last
 * moment. */
void supervisor_end(struct supervisor *supervisor);

/* Whether anybody is left; kills again in KILLING, releases when nobody is. */
void supervisor_look(struct supervisor *supervisor);

/* Nobody is left, or nobody was ever there: the keeper gives the lease back, or leaves the line. */
void supervisor_release(struct supervisor *supervisor);

/* Forks a keeper; `held` is the lease of one that died, else NULL. False with errno. */
bool supervisor_start_keeper(struct supervisor *supervisor, const struct post *held);

#endif
