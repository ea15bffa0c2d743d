// Package fold keeps what a stream of events comes to in a bbolt file: rows of tables, with indexes and counters, written behind. It knows no
// entity: its caller says what the tables are, and what an event does to them. DESIGN.md has the format and what happens after a crash or with damage.
package fold
