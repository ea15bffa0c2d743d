// Package guard says where Ledge may send to and where it may bind, by the settings of the operator.
//
// A destination is checked twice. [Guard.Destination] checks what is posted, by its host as it is written, without
// asking a name server: a name may mean something else tomorrow. [Guard.DialContext] checks each address that is about
// to be connected to, after the name was resolved, so that a name that is made to point inwards leads nowhere.
//
// Ledge's own listeners are not destinations, by whatever address they are named: a message that came back would make the next one.
//
// Nothing that goes through a proxy can be checked so; who dials with a Guard must use none.
package guard
