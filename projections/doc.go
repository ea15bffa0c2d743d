// Package projections keeps the state that the log says in bbolt files, and answers queries from them.
//
// A [DB] is a fold of one stream and nothing else: [DB.Apply] runs the events' own Evolve on the tables of the file and
// moves the checkpoint in the same transaction. The file is written a little after Apply has returned; until then what
// was applied is in memory, and is read there. Delete the file and apply the stream from its first event, and every
// query answers as before; that is also how a file that cannot be trusted is replaced. [DB.State] gives the tables to
// decide on, [DB.View] adds lists, pages and filters.
//
// Each transaction of the file is fsynced. See DESIGN.md for what a damaged file leads to, and for the layout of the file.
package projections
