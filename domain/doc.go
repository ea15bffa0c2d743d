// Package domain holds what Ledge knows: entities, the commands that ask for a change, the events that record one, and
// the fold that turns events into state.
//
// It is pure. Nothing here reads a clock, makes an id or touches a file: ids and times arrive on a [Stamp] that the
// caller made. [Command.Decide] looks at a [State] and answers with one event, none, or an error;
// [Event.Evolve] applies an event to a State and cannot fail. The same Evolve serves deciding, projecting, replaying
// and time travel, so there is one account of what an event means.
//
// The package knows no HTTP, no API version and no bus. The JSON of an event is for ever: see types.go for the table
// of wire names and testdata/events for one example of each that was ever written.
package domain
