// Package ui is the shared look of the web faces: the panel's shell, the public pages'
// shell and the parts that pages are made of. It knows no domain; a page hands it words,
// numbers and links.
//
// Components that need the request's surroundings (the names of assets, the owner's time
// zone, the site's title) read them from the Env that edge puts into the render context.
// Nothing here writes an inline style or script: the content security policy forbids both.
// Every component works without JavaScript; what a script adds is marked .needs-js and
// hidden where scripts are off.
package ui
