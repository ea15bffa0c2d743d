// Package console is the management UI: pages for operators on port 9090, behind a login.
//
// Pages are rendered on the server. Each has one file here and one of the same name in templates; routes.go lists them with the right
// that each needs. htmx loads pages without a reload of the document, and nothing needs it: without scripts every page and form works.
// What changes while a page is open is announced over /live (live.go), and the page loads the part anew that shows it.
//
// A page reads the state as the REST services do, through [handlers.Reader]. It changes nothing by itself: it sends the request that any
// client would send to the REST service, in process and in the user's name (calls.go). So the checks, the messages, the rights and
// what is on the log are those of the API.
package console
