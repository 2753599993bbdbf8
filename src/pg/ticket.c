/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "pg/ticket.h"

void pg_tickets_add(struct pg_tickets *list, struct pg_ticket *ticket)
{
	ticket->list = list;
	ticket->next = NULL;
	ticket->prev = list->last;
	if (list->last)
		list->last->next = ticket;
	else
		list->first = ticket;
	list->last = ticket;
	list->count++;
}

void pg_tickets_remove(struct pg_ticket *ticket)
{
	struct pg_tickets *list = ticket->list;

	if (!list)
		return;
	if (ticket->prev)
		ticket->prev->next = ticket->next;
	else
		list->first = ticket->next;
	if (ticket->next)
		ticket->next->prev = ticket->prev;
	else
		list->last = ticket->prev;
	list->count--;
	ticket->list = NULL;
}

struct pg_ticket *pg_tickets_take(struct pg_tickets *list)
{
	struct pg_ticket *first = list->first;

	if (first)
		pg_tickets_remove(first);
	return first;
}
