/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "leasectl/completion.h"
#include "leasectl/option.h"

static const char bash_head[] =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# bash completion for leasectl(1); made by \"leasectl completion bash\"\n"
    "\n"
    "# Held keys as NAMESPACE/KEY, asked from the server with little patience. Their names are "
    "other\n"
    "# people's: nothing here may expand them.\n"
    "_leasectl_keys()\n"
    "{\n"
    "\tlocal namespace=${1%%/*} key\n"
    "\t[[ $1 == */* ]] || namespace=${LEASED_NAMESPACE:-locks}\n"
    "\twhile IFS= read -r key; do\n"
    "\t\t[[ $key == \"$1\"* ]] && COMPREPLY+=(\"$(printf %q \"$key\")\")\n"
    "\tdone < <(leasectl list \"$namespace\" -o name --timeout 1s -q 2>/dev/null </dev/null)\n"
    "}\n"
    "\n"
    "_leasectl()\n"
    "{\n"
    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb='' i\n"
    "\tCOMPREPLY=()\n"
    "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
    "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
    "\t\t\tif declare -F _command_offset >/dev/null; then\n"
    "\t\t\t\t_command_offset $((i + 1))\n"
    "\t\t\telse\n"
    "\t\t\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
    "\t\t\tfi\n"
    "\t\t\treturn\n"
    "\t\tfi\n"
    "\t\t[[ -n $verb || ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i - 1]} == -[!-]* ]] ||\n"
    "\t\t\tverb=${COMP_WORDS[i]}\n"
    "\tdone\n"
    "\tcase $prev in\n"
    "\t--token-file | --ca-file | --cert-file | --key-file)\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "\t\treturn\n"
    "\t\t;;\n"
    "\t-o | --output)\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -W 'table wide json jsonl name' -- \"$cur\")\n"
    "\t\treturn\n"
    "\t\t;;\n"
    "\t--color)\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -W 'auto always never' -- \"$cur\")\n"
    "\t\treturn\n"
    "\t\t;;\n"
    "\t--on-lost)\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -W 'kill ignore signal=' -- \"$cur\")\n"
    "\t\treturn\n"
    "\t\t;;\n"
    "\tesac\n"
    "\tlocal words=''\n"
    "\tcase $verb in\n"
    "\t'') words='";

static const char bash_tail[] =
    "\tesac\n"
    "\tif [[ $cur == -* || -z $verb ]]; then\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tcase $verb in\n"
    "\tacquire | renew | release | inspect | run) _leasectl_keys \"$cur\" ;;\n"
    "\tcompletion) mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- \"$cur\") ;;\n"
    "\tesac\n"
    "}\n"
    "\n"
    "complete -F _leasectl leasectl\n";

static bool belongs(int option, int verb)
{
	return option_row((enum option_id)option)->verbs & OPTION_VERB(verb);
}

static void print_bash(void)
{
	fputs(bash_head, stdout);
	for (int verb = 0; verb < VERBS; verb++)
		printf("%s%s", verb ? " " : "", option_verb_row((enum verb)verb)->name);
	puts(" --help --version' ;;");
	for (int verb = 0; verb < VERBS; verb++) {
		const char *between = "";

		printf("\t%s) words='", option_verb_row((enum verb)verb)->name);
		for (int i = 0; i < OPTIONS; i++)
			if (belongs(i, verb)) {
				printf("%s%s", between, option_written((enum option_id)i));
				between = " ";
			}
		puts("' ;;");
	}
	fputs(bash_tail, stdout);
}

/* zsh runs the functions of bash. */
static void print_zsh(void)
{
	puts("#compdef leasectl\nautoload -U +X bashcompinit && bashcompinit");
	print_bash();
}

static void print_fish(void)
{
	puts("# fish completion for leasectl(1); made by \"leasectl completion fish\"");
	for (int verb = 0; verb < VERBS; verb++)
		printf("complete -c leasectl -n __fish_use_subcommand -f -a %s -d '%s'\n",
		       option_verb_row((enum verb)verb)->name,
		       option_verb_row((enum verb)verb)->what);
	for (int i = 0; i < OPTIONS; i++) {
		const struct option_row *row = option_row((enum option_id)i);

		printf("complete -c leasectl -l %s", row->name);
		if (row->letter)
			printf(" -s %c", row->letter);
		printf("%s -d '%s' -n '__fish_seen_subcommand_from", *row->argument ? " -r" : "",
		       row->what);
		for (int verb = 0; verb < VERBS; verb++)
			if (belongs(i, verb))
				printf(" %s", option_verb_row((enum verb)verb)->name);
		puts("'");
	}
}

int completion_main(const struct options *options)
{
	const char *shell = options->rest[0] ? options->rest[0] : "";

	if (!strcmp(shell, "bash"))
		print_bash();
	else if (!strcmp(shell, "zsh"))
		print_zsh();
	else if (!strcmp(shell, "fish"))
		print_fish();
	else
		options_refuse("completion for which shell? bash, zsh or fish");
	return STATUS_OK;
}
