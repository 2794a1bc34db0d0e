/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * Starts a JVM in this process and gets Hawser's table of functions from it. Needs jni.h of a JDK 25 to compile
 * (-I$JAVA_HOME/include -I$JAVA_HOME/include/linux), and -ldl with older C libraries.
 *
 * A program that replaces the handler of SIGSEGV after the JVM has started must preload libjsig.so of the JDK: the JVM
 * uses that signal for purposes of its own.
 */
#ifndef HAWSER_JVM_H
#define HAWSER_JVM_H

#include <dlfcn.h>
#include <jni.h>
#include <stddef.h>
#include <stdio.h>

#include "hawser.h"

/* What was thrown instead of giving the table, in one line. The class path comes last: it may be long. */
static inline void hawser_describe_thrown(JNIEnv *env, jthrowable thrown, char *error, size_t error_bytes,
                                          const char *class_path) {
  jclass type = (*env)->GetObjectClass(env, thrown);
  jmethodID to_string = (*env)->GetMethodID(env, type, "toString", "()Ljava/lang/String;");
  jstring words = to_string == NULL ? NULL : (jstring)(*env)->CallObjectMethod(env, thrown, to_string);
  const char *text = words == NULL ? NULL : (*env)->GetStringUTFChars(env, words, NULL);
  snprintf(error, error_bytes, "Hawser's table cannot be made (%s): are all of Hawser's jars in the class path %s",
           text == NULL ? "an error without words" : text, class_path);
  if (text != NULL) {
    (*env)->ReleaseStringUTFChars(env, words, text);
  }
  (*env)->ExceptionClear(env);
}

/*
 * The table, or NULL with a line in error.
 *
 * java_home: a JDK or runtime of version 25 or newer.
 * class_path: Hawser's jars, separated by colons.
 */
static inline const hawser_api *hawser_open(const char *java_home, const char *class_path, char *error,
                                            size_t error_bytes) {
  char path[4096];
  char jars[16384];
  snprintf(path, sizeof path, "%s/lib/server/libjvm.so", java_home);
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    snprintf(error, error_bytes, "%s cannot be loaded (%s): give the folder of a JDK 25", path, dlerror());
    return NULL;
  }
  jint (*create)(JavaVM **, void **, void *);
  *(void **)&create = dlsym(library, "JNI_CreateJavaVM");
  if (create == NULL) {
    snprintf(error, error_bytes, "%s has no JNI_CreateJavaVM: give the folder of a JDK 25", path);
    return NULL;
  }
  if ((size_t)snprintf(jars, sizeof jars, "-Djava.class.path=%s", class_path) >= sizeof jars) {
    snprintf(error, error_bytes, "the class path is longer than %zu bytes", sizeof jars);
    return NULL;
  }
  JavaVMOption options[] = {
      {jars, NULL},
      {(char *)"--enable-native-access=ALL-UNNAMED", NULL},
      {(char *)"-XX:+UseSerialGC", NULL},
      {(char *)"-Xmx128m", NULL},
      {(char *)"-Xrs", NULL},
  };
  JavaVMInitArgs arguments = {JNI_VERSION_21, sizeof options / sizeof options[0], options, JNI_FALSE};
  JavaVM *machine;
  JNIEnv *env;
  jint rc = create(&machine, (void **)&env, &arguments);
  if (rc != JNI_OK) {
    snprintf(error, error_bytes, "the JVM of %s does not start (code %d)%s", java_home, (int)rc,
             rc == JNI_EEXIST ? ": this process has one already" : ": is it version 25?");
    return NULL;
  }
  jclass entry = (*env)->FindClass(env, "dev/hawser/capi/CApi");
  jmethodID method = entry == NULL ? NULL : (*env)->GetStaticMethodID(env, entry, "table", "(I)J");
  jlong table = method == NULL ? 0 : (*env)->CallStaticLongMethod(env, entry, method, (jint)HAWSER_ABI_MAJOR);
  jthrowable thrown = (*env)->ExceptionOccurred(env);
  if (thrown != NULL) {
    (*env)->ExceptionClear(env);
    hawser_describe_thrown(env, thrown, error, error_bytes, class_path);
    return NULL;
  }
  if (table == 0) {
    snprintf(error, error_bytes, "there is no table of version %d: these are Hawser's jars of another version: %s",
             HAWSER_ABI_MAJOR, class_path);
  }
  return (const hawser_api *)(intptr_t)table;
}

#endif
