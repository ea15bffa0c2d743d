// Package payloads keeps the posted bodies that are too large for a message of the log. Each body is named by the SHA-256 of
// its content and is durable before the message that refers to it. A body is streamed and never loaded. The same body posted
// twice is kept once; any number of messages may refer to it.
//
// [Files] keeps the bodies on the local disk. DESIGN.md says why they are not messages, and how unused bodies are collected
// while others are uploaded.
package payloads
