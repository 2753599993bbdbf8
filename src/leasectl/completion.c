/* SPDX-License-Identifier: Apache-2.0 */
#include "leasectl/completion.h"

int completion_main(const struct options *options)
{
	options_notice(options, "not yet");
	return STATUS_BUG;
}
