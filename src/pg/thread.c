/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "pg/thread.h"

enum err pg_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed ? ERR_SYSTEM : ERR_OK;
}
