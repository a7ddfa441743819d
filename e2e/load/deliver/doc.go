// Package deliver measures the path from a committed event to the signed
// request at its receiver, with the server's parts inside this process.
package deliver
