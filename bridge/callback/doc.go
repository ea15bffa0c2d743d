// Package callback calls EdgeX device services back: each hears of what changes in its devices, the profiles of these,
// its provision watchers and itself, and is asked whether it takes a device before one is added or changed.
//
// [Callbacks] follows the event stream from the position that it has on record. The calls for one device service go out
// one after another, in the order of the events, and are tried again until the service has them, with back-off; no
// service waits for another. What is made is put on record a second later, so that a crash repeats some calls and loses
// none. Paths, methods and bodies are those of EdgeX 2.3; "device-rest" is Ledge itself and is not called.
package callback
