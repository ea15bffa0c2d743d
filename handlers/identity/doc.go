// Package identity proves who asks: by a user name and a password, by the token of a login, by the secret token of a
// program, by a client certificate, or by a JWT of an external issuer.
//
// Roles and removals take effect at once: each request looks up the user or the token in the folded state. Only
// the roles of JWTs come from the JWT itself.
//
// # Guessing
//
// A password costs an argon2id computation: 19 MiB and some milliseconds. The process computes on at most half of the processors. The
// others wait in turns, one turn for each client. A client is an IPv4 address or an IPv6 network /64 ([domain.ClientOf]).
//
// Failures slow down the client that fails:
//   - for one name, after 3 failures: 1 s, then twice as long after each failure, 30 s at most
//   - for all names, after 10 failures: 1 s to 8 s. A client that has logged in with a name lately skips this wait for that name
//
// A try within the wait gets TooMany ([RetryAfter]) and costs no computation. A client that has not failed never gets
// it, so failures elsewhere lock nobody out. A name that has many failures, from whatever clients, is under attack. Clients
// that have not logged in with it lately then wait for half a second. Waits are forgotten 15 minutes after the last failure.
//
// Somebody who fails at the owner's own address, with the owner's name, does make the owner wait, for 30 s at
// most. Tokens still work, and so does the command line on the data folder.
//
// A table of failures is bounded by clients, and evicts the one that has not failed for longest. To push out one failure takes
// as many addresses as the table has rows, and each of these addresses could guess as well.
//
// Tokens are long random secrets, and comparing them is cheap. So Ledge always compares them first, and a correct token is never
// slowed down. Only wrong ones get TooMany.
package identity
