// Package rest sends notifications as HTTP requests.
//
// Whatever is answered with a status of 2xx is delivered. Other statuses are failures, for good where the request itself
// is at fault (3xx and 4xx, but for 408, 425 and 429) and for now otherwise; so are errors of the network. A Retry-After
// is passed on in the error.
//
// A redirect is followed only where the request stays the same: to the same scheme, host and port, with the same method.
// Proxies are not used: see package guard.
package rest
