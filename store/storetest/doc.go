// Package storetest is the conformance suite of package store: what any log that Ledge runs on must do. [Run] is given
// a way to open an empty store. The fixtures, a projection in memory and a few commands, serve other tests too.
package storetest
