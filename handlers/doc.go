// Package handlers is what the HTTP services of Ledge share: one [Service] per port, with an [API] for each version of
// its interface beside the others.
//
// The services follow EdgeX 2.3 to the byte where its answers are known: paths, status codes, envelopes, the order of
// keys, paging. Where EdgeX answers 500 for what the client did wrong, Ledge answers 400, and its messages name the
// field, the value and the cure.
//
// A request passes one place for each concern: web.SameOrigin refuses foreign web pages, [Service.ServeHTTP] cleans paths
// and correlates, [API] lets bodies in and stamps commands with time and actor, [Batch] decodes and checks whole batches
// before anything is submitted, condition.go makes a change conditional where the request has If-Match, idempotency.go has
// a POST with Idempotency-Key recorded once, and [API.Fail] turns errors into statuses.
//
// Some packages below this one are its parts and do not import it: access, answers, bodies, entities, etag, faults, jsonform, lookups, quota
// and web. Others import it: a package for each service, with its routes, and cleanup, startup and shapes, which services share.
//
// Caveat: gin's global mode is set to release when this package is loaded.
package handlers
