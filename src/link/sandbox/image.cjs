'use strict';
// What of Node is in a start image beside what every Node has: nearly every tool uses it, for its stdin and stdout.
require('node:net');
