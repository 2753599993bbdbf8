/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl: leases from the command line. Reads the options and goes to the verb. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "config.h"
#include "leasectl/completion.h"
#include "leasectl/health.h"
#include "leasectl/list.h"
#include "leasectl/mcp.h"
#include "leasectl/options.h"
#include "leasectl/run.h"
#include "leasectl/top.h"
#include "leasectl/unary.h"
#include "leasectl/watch.h"

static int version_main(const struct options *options)
{
	(void)options;
	printf("leasectl %s\ngRPC %s, protobuf-c %s, jansson %s\n", PACKAGE_VERSION,
	       GRPC_VERSION_TEXT, PROTOBUF_C_VERSION_TEXT, JANSSON_VERSION);
	return STATUS_OK;
}

static int (*const verbs[])(const struct options *options) = {
#define VERB(id, name, arguments, function, what) [VERB_##id] = function,
#include "leasectl/verbs.def"
#undef VERB
};

int main(int argc, char **argv)
{
	struct options options;
	int status;

	options_read(argc, argv, &options);
	status = verbs[options.verb](&options);
	/* A full disk or a closed pipe must not look like success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("leasectl: cannot write");
		return status ? status : STATUS_BUG;
	}
	return status;
}
