/* SPDX-License-Identifier: Apache-2.0 */
#include "leasectl/watch.h"

int watch_main(const struct options *options)
{
	options_notice(options, "not yet");
	return STATUS_BUG;
}

int top_main(const struct options *options)
{
	options_notice(options, "not yet");
	return STATUS_BUG;
}
