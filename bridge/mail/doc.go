// Package mail sends notifications as e-mail through one SMTP server.
//
// A message is delivered when the server has taken it for all its recipients. Where it takes it for some only, those get
// it, and the error names the others: those that another try may go to, and those that are refused for good.
//
// The header is made of encoded words and parsed addresses only, so that nothing in a notification can add a line to it.
package mail
